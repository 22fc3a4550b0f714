// The device of the tests: heap memory with guards, kernels run by the emulator, libraries by plain loops.
#pragma once

#include <map>
#include <memory>

#include "backends/cuda/device.h"
#include "backends/cuda/host_twin/queue.h"

namespace mpt::gpu {

class HostTwin final : public Device {
  public:
    // `last_first` runs blocks, and threads between barriers, in the opposite order.
    explicit HostTwin(bool last_first = false);
    ~HostTwin() override;

    std::byte* allocate(std::size_t bytes) override;
    void release(std::byte* memory) override;
    std::byte* allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
    void release_pinned(std::byte* memory) override { release(memory); }
    std::int64_t free_bytes() override;
    void copy(void* to, const void* from, std::size_t bytes) override;
    void fill_zero(void* to, std::size_t bytes) override;
    void synchronize() override;  // throws when a guard was written over
    std::unique_ptr<Event> make_event() override;
    std::unique_ptr<Recording> capture(const std::function<void()>& work) override;
    Planned<ProductArgs> plan_product(const ProductSpec& spec) override;
    Planned<ConvolutionArgs> plan_convolution(const ConvolutionSpec& spec) override;
    Planned<AttentionArgs> plan_attention(const AttentionSpec& spec) override;

  private:
    struct Allocation;
    emulator::Queue queue_;
    std::map<std::byte*, std::unique_ptr<Allocation>> allocations_;
};

}  // namespace mpt::gpu

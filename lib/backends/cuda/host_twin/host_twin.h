// The device of the tests: heap memory with guards, kernels run by the emulator, libraries by plain loops.
#pragma once

#include <map>
#include <memory>

#include "backends/cuda/device.h"
#include "backends/cuda/host_twin/queue.h"

namespace mpt::gpu {

// When work runs: as it is enqueued, or as late as the host allows, with one of the streams as far ahead as
// events let it be. Late, the host has no access to the device's memory either, as with a GPU.
enum class TwinOrder : std::uint8_t { kAtOnce, kFirstStreamAhead, kSecondStreamAhead };

class HostTwin final : public Device {
  public:
    // `last_first` runs blocks, and threads between barriers, in the opposite order.
    explicit HostTwin(bool last_first = false, TwinOrder order = TwinOrder::kAtOnce,
                      std::int64_t shared_bytes_per_block = 227 * 1024);
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
    void open_range(const std::string& name) override { ranges_.push_back(name); }
    void close_range() override { ++num_closed_; }
    // Every range that was opened, in order; throws when not all are closed.
    const std::vector<std::string>& ranges() const;
    void check_not_capturing(const char* what) const;
    std::int64_t num_synchronizations() const { return num_synchronizations_; }
    // Runs what waits until `reached`; throws when it never is.
    void run_until(const std::function<bool()>& reached);
    std::unique_ptr<Recording> capture(const std::function<void()>& work) override;
    Planned<ProductArgs> plan_product(const ProductSpec& spec) override;
    Planned<ConvolutionArgs> plan_convolution(const ConvolutionSpec& spec) override;
    Planned<AttentionArgs> plan_attention(const AttentionSpec& spec) override;
    Planned<PoolArgs> plan_pool(const PoolSpec& spec, const OwnKernel<PoolArgs>& own) override;
    Planned<NormArgs> plan_norm(const NormSpec& spec, const OwnKernel<NormArgs>& own) override;

  private:
    struct Allocation;
    bool step();
    emulator::Queue& current() { return *static_cast<emulator::Queue*>(stream_); }

    TwinOrder order_;
    emulator::Queue queue_, second_queue_;
    std::vector<std::string> ranges_;
    std::size_t num_closed_ = 0;
    std::int64_t num_synchronizations_ = 0;
    std::map<std::byte*, std::unique_ptr<Allocation>> allocations_;
};

}  // namespace mpt::gpu

// A host twin with less than a run needs: it tells how much is free, and refuses what it is told to refuse.
#pragma once

#include "backends/cuda/failures.h"
#include "backends/cuda/host_twin/host_twin.h"

namespace mpt::test {

enum class Refused { kNothing, kMemory, kPinned, kGraphs };

class ScarceDevice final : public gpu::Device {
  public:
    ScarceDevice() : ScarceDevice(std::make_unique<gpu::HostTwin>()) {}

    Refused refused = Refused::kNothing;
    std::int64_t free = std::int64_t{1} << 34;
    std::int64_t bytes_in_use() { return twin_->info().memory_bytes - twin_->free_bytes(); }

    std::byte* allocate(std::size_t bytes) override {
        if (refused == Refused::kMemory) throw gpu::OutOfMemory("cudaMalloc: out of memory");
        return twin_->allocate(bytes);
    }
    void release(std::byte* memory) override { twin_->release(memory); }
    std::byte* allocate_pinned(std::size_t bytes) override {
        if (refused == Refused::kPinned) throw gpu::OutOfMemory("cudaMallocHost: out of memory");
        return twin_->allocate_pinned(bytes);
    }
    void release_pinned(std::byte* memory) override { twin_->release_pinned(memory); }
    std::int64_t free_bytes() override { return free; }
    void copy(void* to, const void* from, std::size_t bytes) override { twin_->copy(to, from, bytes); }
    void fill_zero(void* to, std::size_t bytes) override { twin_->fill_zero(to, bytes); }
    void synchronize() override { twin_->synchronize(); }
    std::unique_ptr<gpu::Event> make_event() override { return twin_->make_event(); }
    std::unique_ptr<gpu::Recording> capture(const std::function<void()>& work) override {
        std::unique_ptr<gpu::Recording> recording = twin_->capture(work);
        if (refused == Refused::kGraphs) throw gpu::OutOfMemory("cudaGraphInstantiate: out of memory");
        return recording;
    }
    gpu::Planned<gpu::ProductArgs> plan_product(const gpu::ProductSpec& spec) override {
        return twin_->plan_product(spec);
    }
    gpu::Planned<gpu::ConvolutionArgs> plan_convolution(const gpu::ConvolutionSpec& spec) override {
        return twin_->plan_convolution(spec);
    }
    gpu::Planned<gpu::AttentionArgs> plan_attention(const gpu::AttentionSpec& spec) override {
        return twin_->plan_attention(spec);
    }

  private:
    explicit ScarceDevice(std::unique_ptr<gpu::HostTwin> twin)
        : Device(twin->info()), twin_(std::move(twin)) {
        stream_ = twin_->stream();
        twin_->beside([this] { second_stream_ = twin_->stream(); });
    }

    std::unique_ptr<gpu::HostTwin> twin_;
};

}  // namespace mpt::test

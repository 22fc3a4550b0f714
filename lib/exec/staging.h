// How batches reach a device: two buffers on each side, used in turns by all plans of a run. While a step
// runs on one, the next batch is brought into the other on the device's second stream.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "backends/cuda/device.h"

namespace mpt {

class Staging {
  public:
    // `input_bytes` of the largest plan. The device must outlive it.
    Staging(gpu::Device& device, std::size_t input_bytes);
    ~Staging();
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;

    struct Slot {
        std::byte* pinned = nullptr;        // where the host puts the inputs
        std::unique_ptr<gpu::Event> ready;  // the device has them
        std::unique_ptr<gpu::Event> read;   // the step that reads them is through
    };
    int next() const { return next_; }
    // The next slot, as soon as the host may write to it.
    Slot& writable();
    void turn() { next_ = 1 - next_; }

  private:
    gpu::Device& device_;
    std::array<Slot, 2> slots_;
    int next_ = 0;
};

}  // namespace mpt

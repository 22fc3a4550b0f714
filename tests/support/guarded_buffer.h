// Memory of one tensor with guard bytes on both sides, 64-byte aligned at its start and ending exactly at its
// end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/reference.h"

namespace mpt::test {

class GuardedBuffer {
  public:
    explicit GuardedBuffer(std::size_t bytes) : memory_(bytes + 3 * kGuard, kMark), bytes_(bytes) {
        void* start = memory_.data() + kGuard;
        std::size_t space = bytes + 2 * kGuard;
        start_ = static_cast<std::uint8_t*>(std::align(kGuard, bytes + kGuard, start, space));
        std::fill_n(start_, bytes_, std::uint8_t{0xff});  // NaN in every floating type
    }
    GuardedBuffer(const GuardedBuffer&) = delete;
    GuardedBuffer& operator=(const GuardedBuffer&) = delete;

    void* data() { return start_; }
    // The memory and a guard on each side; begins at a multiple of 64 bytes.
    std::span<std::uint8_t> with_guards() { return {start_ - kGuard, bytes_ + 2 * kGuard}; }
    std::vector<std::uint8_t> bytes() const { return {start_, start_ + bytes_}; }
    bool intact() const {
        const auto marked = [](std::uint8_t byte) { return byte == kMark; };
        return std::all_of(memory_.data(), static_cast<const std::uint8_t*>(start_), marked) &&
               std::all_of(static_cast<const std::uint8_t*>(start_) + bytes_, memory_.data() + memory_.size(),
                           marked);
    }
    void write(DType type, std::span<const double> values) {
        for (std::size_t i = 0; i < values.size(); ++i)
            reference::store(start_, type, static_cast<std::int64_t>(i), values[i]);
    }
    std::vector<double> read(const TensorType& type) const {
        return reference::Tensor{start_, type}.values();
    }

  private:
    static constexpr std::size_t kGuard = 64;
    static constexpr std::uint8_t kMark = 0xa5;
    std::vector<std::uint8_t> memory_;
    std::uint8_t* start_ = nullptr;
    std::size_t bytes_;
};

}  // namespace mpt::test

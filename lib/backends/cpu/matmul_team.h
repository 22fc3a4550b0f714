// How two threads share one part of a product: each takes panels from its own end of the part until they
// meet, so that the one with the faster core takes more. A round is one pass over the part's panels, of one
// block of the sum over k: no panel begins a round before the last one ended on it, so that the order of a
// sum, and its bits, do not depend on who took what.
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "backends/cpu/threads.h"

namespace mpt::cpu {

class MatmulTeam {
  public:
    // 32-bit words of memory, which must be zero at the start.
    static std::int64_t words(std::int64_t rounds, std::int64_t panels) { return 2 * rounds + panels; }

    MatmulTeam() = default;
    // `member` 0 takes from the front, 1 from the back. The panels of a round are [0, count), count <=
    // panels.
    MatmulTeam(void* memory, std::int64_t rounds, int member)
        : taken_(static_cast<std::uint64_t*>(memory)),
          ended_(reinterpret_cast<std::int32_t*>(taken_ + rounds)),
          member_(member) {}

    // Up to `most` panels of a round of `count`, fewer near its end; an empty range when all are taken.
    Range take(std::int64_t round, std::int64_t count, std::int64_t most) const {
        const std::atomic_ref<std::uint64_t> taken(taken_[round]);
        std::uint64_t before = taken.load(std::memory_order_relaxed);
        for (;;) {
            const auto front = static_cast<std::int64_t>(before & 0xffffffff);
            const auto back = static_cast<std::int64_t>(before >> 32);
            const std::int64_t left = count - front - back;
            if (left <= 0) return {0, 0};
            const std::int64_t size = std::clamp<std::int64_t>(left / 4, 1, most);
            const auto added = static_cast<std::uint64_t>(size);
            if (taken.compare_exchange_weak(before, before + (member_ == 0 ? added : added << 32),
                                            std::memory_order_relaxed))
                return member_ == 0 ? Range{front, front + size} : Range{count - back - size, count - back};
        }
    }

    void wait_for(const Range& panels, std::int64_t round) const {
        for (std::int64_t p = panels.begin; p < panels.end; ++p)
            for (int spins = 0;
                 std::atomic_ref<std::int32_t>(ended_[p]).load(std::memory_order_acquire) < round; ++spins) {
                _mm_pause();
                if (spins > 1000) sched_yield();  // the other thread may wait for this core
            }
    }
    void end(const Range& panels, std::int64_t round) const {
        for (std::int64_t p = panels.begin; p < panels.end; ++p)
            std::atomic_ref<std::int32_t>(ended_[p]).store(static_cast<std::int32_t>(round + 1),
                                                           std::memory_order_release);
    }

  private:
    std::uint64_t* taken_ = nullptr;  // of each round: from the front, from the back in the upper half
    std::int32_t* ended_ = nullptr;   // rounds that ended on each panel
    int member_ = 0;
};

}  // namespace mpt::cpu

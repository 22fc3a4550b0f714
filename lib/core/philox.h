// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). The same (key, counter) gives the same bits on every device, thread count and after every resume.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace mpt {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_low) {
    PhiloxBlock c = {static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
                     static_cast<std::uint32_t>(counter_high),
                     static_cast<std::uint32_t>(counter_high >> 32)};
    std::uint32_t k0 = static_cast<std::uint32_t>(key);
    std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
        c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

// A stream of numbers for one (seed, purpose, index): purposes are distinct constants below.
enum class RandomPurpose : std::uint32_t {
    kInit = 1,
    kShuffle = 2,
    kAugment = 3,
    kDropout = 4,
    kSynthetic = 5,
    kSample = 6
};

class RandomStream {
  public:
    // `a` and `b` name the place: e.g. (epoch, sample) or (parameter index, 0).
    RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint64_t a, std::uint64_t b = 0)
        : key_(seed ^ (static_cast<std::uint64_t>(purpose) * 0x9E3779B97F4A7C15ull)),
          high_((a << 32) ^ (a >> 32) ^ b) {}

    std::uint32_t next_u32() {
        if (used_ == 4) {
            block_ = philox(key_, high_, counter_++);
            used_ = 0;
        }
        return block_[used_++];
    }
    std::uint64_t next_u64() {
        const std::uint64_t low = next_u32();
        return low | (static_cast<std::uint64_t>(next_u32()) << 32);
    }
    // Uniform in [0, 1) with 24 bits.
    float uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }
    // Uniform integer in [0, bound), without modulo bias worth speaking of (64-bit multiply-shift).
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next_u64()) * bound) >> 64);
    }
    // Standard normal by Box-Muller; draws two 32-bit numbers.
    float normal() {
        const double u1 = (static_cast<double>(next_u32()) + 1.0) * 0x1p-32;
        const double u2 = static_cast<double>(next_u32()) * 0x1p-32;
        return static_cast<float>(std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2));
    }

  private:
    std::uint64_t key_;
    std::uint64_t high_;
    std::uint64_t counter_ = 0;
    PhiloxBlock block_{};
    std::size_t used_ = 4;
};

}  // namespace mpt

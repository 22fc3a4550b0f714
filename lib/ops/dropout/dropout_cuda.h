// The numbers of dropout.h on a device. For *_cuda.cu files only.
#pragma once

#include "backends/cuda/device_math.h"
#include "ops/dropout/dropout.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

struct PhiloxWords {
    std::uint32_t word[4];
};
struct DropoutCounter {
    std::uint64_t high = 0;
};

// Philox4x32-10, as core/philox.h.
MPT_DEVICE PhiloxWords philox_words(std::uint64_t key, std::uint64_t high, std::uint64_t low) {
    std::uint32_t c0 = static_cast<std::uint32_t>(low), c1 = static_cast<std::uint32_t>(low >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(high), c3 = static_cast<std::uint32_t>(high >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0, p1 = std::uint64_t{0xCD9E8D57u} * c2;
        const std::uint32_t next0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
        const std::uint32_t next2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
        c0 = next0;
        c1 = static_cast<std::uint32_t>(p1);
        c2 = next2;
        c3 = static_cast<std::uint32_t>(p0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// By value into a kernel; probability 0 lets everything pass.
struct DropoutMask {
    std::uint64_t key = 0;
    std::uint32_t stream = 0, threshold = 0;
    float scale = 1;
    bool drops = false;

    explicit DropoutMask(const DropoutAttributes& a)
        : key(DropoutNumbers(a, 0).key),
          stream(a.stream),
          threshold(a.probability == 0 ? 0 : dropout_threshold(a)),
          scale(static_cast<float>(1 / (1 - a.probability))),
          drops(a.probability != 0) {}

    MPT_DEVICE DropoutCounter counter(std::int32_t step) const {
        return {(static_cast<std::uint64_t>(stream) << 32) | static_cast<std::uint32_t>(step)};
    }
    MPT_DEVICE PhiloxWords words(const DropoutCounter& counter, std::int64_t block) const {
        return philox_words(key, counter.high, static_cast<std::uint64_t>(block));
    }
    MPT_DEVICE float apply(std::uint32_t word, float x) const { return word < threshold ? 0.0f : x * scale; }
    // What an element is multiplied by.
    MPT_DEVICE float factor(const DropoutCounter& counter, std::int64_t i) const {
        if (!drops) return 1;
        const PhiloxWords w = words(counter, i / 32 * 8 + i % 8);
        const int k = static_cast<int>(i % 32 / 8);
        const std::uint32_t word = k == 0 ? w.word[0] : k == 1 ? w.word[1] : k == 2 ? w.word[2] : w.word[3];
        return word < threshold ? 0.0f : scale;
    }
};

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

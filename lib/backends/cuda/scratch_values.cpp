#include "backends/cuda/scratch_values.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "core/float_formats.h"
#include "core/philox.h"

namespace mpt::gpu {

namespace {

// Elements until they repeat; a prime, so that no two rows of a matrix are alike.
constexpr std::size_t kPeriod = 65521;

std::uint32_t bits_of(float value, DType type) {
    switch (type) {
        case DType::f32:
            return std::bit_cast<std::uint32_t>(value);
        case DType::i32:
            return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
        case DType::u8:
            return static_cast<std::uint8_t>(value);
        case DType::f16:
            return f16_bits(value);
        case DType::bf16:
            return bf16_bits(value);
        case DType::e4m3:
            return e4m3_bits(value);
        case DType::e5m2:
            return e5m2_bits(value);
        default:
            MPT_CHECK(false, "no scratch of this type");
            return 0;
    }
}

}  // namespace

void fill_scratch(Device& device, std::byte* to, std::size_t bytes, const ScratchValues& values) {
    const std::size_t size = size_of(values.type);
    const std::size_t whole = bytes / size * size;
    if (whole == 0) return;
    std::vector<std::byte> pattern(std::min(whole, kPeriod * size));
    RandomStream numbers(0, RandomPurpose::kSynthetic, 0);
    for (std::size_t at = 0; at < pattern.size(); at += size) {
        const float spread = 2 * numbers.uniform() - 1;
        const std::uint32_t bits = bits_of(values.everywhere.value_or(spread), values.type);
        std::memcpy(pattern.data() + at, &bits, size);  // the low bytes come first
    }
    device.copy(to, pattern.data(), pattern.size());
    device.synchronize();  // the pattern goes
    // Twice as much with each copy.
    for (std::size_t done = pattern.size(); done < whole;) {
        const std::size_t more = std::min(done, whole - done);
        device.copy(to + done, to, more);
        done += more;
    }
}

}  // namespace mpt::gpu

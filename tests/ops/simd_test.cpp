// The vector loads and stores against the definition of the formats in core/float_formats.h, and exp against
// std::exp.
#include "backends/cpu/simd.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "backends/cpu/instruction_set.h"
#include "core/philox.h"

using namespace mpt;

namespace {

bool runs_here() {
    if (cpu::instruction_set() != cpu::InstructionSet::kBaseline) return true;
    WARN("SKIPPED: this processor lacks AVX2, FMA or F16C");
    return false;
}

template <typename T>
int count_load_faults() {
    int faults = 0;
    for (std::uint32_t first = 0; first < 65536; first += 8) {
        T in[8];
        float got[8];
        for (std::uint32_t i = 0; i < 8; ++i) in[i].bits = static_cast<std::uint16_t>(first + i);
        simd::store(got, simd::load(in, simd::Full{}), simd::Full{});
        for (int i = 0; i < 8; ++i) {
            const float expected = static_cast<float>(in[i]);
            const bool same = std::isnan(expected) ? std::isnan(got[i])
                                                   : std::bit_cast<std::uint32_t>(got[i]) ==
                                                         std::bit_cast<std::uint32_t>(expected);
            faults += same ? 0 : 1;
        }
    }
    return faults;
}

template <typename T>
int count_store_faults(const float (&values)[8]) {
    T got[8];
    simd::store(got, simd::load(values, simd::Full{}), simd::Full{});
    int faults = 0;
    for (int i = 0; i < 8; ++i) faults += got[i].bits == T(values[i]).bits ? 0 : 1;
    return faults;
}

template <typename T>
int count_partial_faults() {
    int faults = 0;
    T from[8], to[8];
    for (int i = 0; i < 8; ++i) from[i] = T(static_cast<float>(i + 1));
    for (int count = 1; count < 8; ++count) {
        for (T& value : to) value = T(-1.0f);
        simd::store(to, simd::load(from, simd::Some{count}), simd::Some{count});
        for (int i = 0; i < 8; ++i) {
            const float expected = i < count ? static_cast<float>(i + 1) : -1.0f;
            faults += static_cast<float>(to[i]) == expected ? 0 : 1;
        }
    }
    return faults;
}

float exp_of(float x) {
    float y[8];
    simd::store(y, simd::exp(_mm256_set1_ps(x)), simd::Full{});
    return y[3];
}

}  // namespace

TEST_CASE("every f16 and bf16 loads as float_formats defines") {
    if (!runs_here()) return;
    CHECK(count_load_faults<f16>() == 0);
    CHECK(count_load_faults<bf16>() == 0);
}

TEST_CASE("stores round as float_formats defines") {
    if (!runs_here()) return;
    int f16_faults = 0, bf16_faults = 0;
    const auto check = [&](const auto& bits_of) {
        float values[8];
        for (std::uint32_t i = 0; i < 8; ++i) values[i] = std::bit_cast<float>(bits_of(i));
        f16_faults += count_store_faults<f16>(values);
        bf16_faults += count_store_faults<bf16>(values);
    };
    RandomStream random(3, RandomPurpose::kSample, 0);
    for (int block = 0; block < 1 << 17; ++block) check([&](std::uint32_t) { return random.next_u32(); });
    // Every value of both formats, the ties between neighbours, and one bit to either side of a tie.
    for (std::uint32_t high = 0; high < 65536; ++high) {
        const std::uint32_t f16_tie =
            std::bit_cast<std::uint32_t>(f16_value(static_cast<std::uint16_t>(high)));
        const std::uint32_t starts[] = {
            high << 16, (high << 16) | 0x8000, (high << 16) | 0x7fff, (high << 16) | 0x8001,
            f16_tie,    f16_tie ^ 0x1000,      f16_tie ^ 0xfff,       f16_tie ^ 0x1001};
        check([&](std::uint32_t i) { return starts[i]; });
    }
    CHECK(f16_faults == 0);
    CHECK(bf16_faults == 0);
}

TEST_CASE("loads and stores of some lanes leave the others alone") {
    if (!runs_here()) return;
    CHECK(count_partial_faults<float>() == 0);
    CHECK(count_partial_faults<f16>() == 0);
    CHECK(count_partial_faults<bf16>() == 0);
    std::uint8_t from[8] = {0, 1, 127, 128, 200, 254, 255, 3}, to[8] = {};
    simd::store_bytes(to, simd::load_bytes(from, simd::Full{}), simd::Full{});
    CHECK(std::equal(from, from + 8, to));
    std::fill_n(to, 8, std::uint8_t{9});
    simd::store_bytes(to, simd::load_bytes(from, simd::Some{5}), simd::Some{5});
    CHECK(std::equal(from, from + 5, to));
    CHECK((to[5] == 9 && to[6] == 9 && to[7] == 9));
}

TEST_CASE("exp of eight lanes is within two roundings of std::exp in f64") {
    if (!runs_here()) return;
    double worst = 0;
    for (float x = -87.32f; x < 88.36f; x += 0.00137f) {
        const double expected = std::exp(static_cast<double>(x));
        worst = std::max(worst, std::abs(static_cast<double>(exp_of(x)) - expected) / expected);
    }
    CHECK(worst < 2.5 * 0x1p-24);
    CHECK(exp_of(0) == 1.0f);
    CHECK(exp_of(-100) == 0.0f);
    CHECK(exp_of(-std::numeric_limits<float>::infinity()) == 0.0f);
    CHECK(exp_of(std::numeric_limits<float>::infinity()) == std::numeric_limits<float>::infinity());
    CHECK(exp_of(100) == std::numeric_limits<float>::infinity());
    CHECK(std::isnan(exp_of(std::numeric_limits<float>::quiet_NaN())));
}

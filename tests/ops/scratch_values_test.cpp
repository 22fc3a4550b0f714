// What calls are timed on: values read back from the host twin. References: the types' own conversions, and
// the moments of numbers spread evenly over [-1, 1] (mean 0, variance 1/3).
#include "backends/cuda/scratch_values.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "backends/cuda/host_twin/host_twin.h"
#include "core/float_formats.h"

using namespace mpt;
using gpu::fill_scratch;

namespace {

template <typename T>
std::vector<T> filled(std::size_t count, const gpu::ScratchValues& values, std::size_t extra_bytes = 0) {
    gpu::HostTwin twin(false, gpu::TwinOrder::kFirstStreamAhead);
    const gpu::Memory memory(twin, count * sizeof(T) + extra_bytes);
    fill_scratch(twin, memory.data(), memory.bytes(), values);
    std::vector<T> read(count);
    twin.copy(read.data(), memory.data(), count * sizeof(T));
    twin.synchronize();
    return read;
}

template <typename T>
void check_spread(DType type, std::size_t count) {
    double sum = 0, squares = 0;
    for (const T element : filled<T>(count, {type})) {
        const double value = static_cast<double>(static_cast<float>(element));
        REQUIRE(std::abs(value) <= 1);
        sum += value, squares += value * value;
    }
    INFO(name_of(type));
    CHECK(sum / static_cast<double>(count) == Approx(0).margin(0.02));
    CHECK(squares / static_cast<double>(count) == Approx(1.0 / 3).margin(0.02));
}

}  // namespace

TEST_CASE("scratch is filled with numbers as data has them, in each type") {
    check_spread<f16>(DType::f16, 300000);  // more than the pattern that repeats
    check_spread<bf16>(DType::bf16, 40000);
    check_spread<float>(DType::f32, 40000);
    check_spread<e4m3>(DType::e4m3, 40000);
    check_spread<e5m2>(DType::e5m2, 40000);
}

TEST_CASE("rows of a matrix differ, also where they are a power of two long") {
    const std::vector<float> matrix = filled<float>(1024 * 256, {DType::f32});
    for (std::size_t row = 1; row < 256; ++row)
        CHECK(std::memcmp(matrix.data(), matrix.data() + 1024 * row, 1024 * sizeof(float)) != 0);
}

TEST_CASE("one value goes everywhere, and lengths are whole numbers") {
    const auto all = [](const auto& values, auto expected) {
        return std::ranges::all_of(values, [&](auto value) { return value == expected; });
    };
    CHECK(all(filled<float>(70000, {DType::f32, 1.0f}), 1.0f));
    CHECK(all(filled<std::int32_t>(64, {DType::i32, 512.0f}), 512));
    CHECK(all(filled<std::int32_t>(1, {DType::i32, 7.0f}, 3), 7));  // bytes behind the last whole element
}

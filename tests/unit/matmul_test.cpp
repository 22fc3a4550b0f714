// The CPU's matrix product against f64 loops: every tile of every instruction set there is, tiles that reach
// over the edge, several blocks of the sum; and that no bit depends on the number of threads.
#include "backends/cpu/matmul.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/matmul_tiles.h"
#include "core/float_formats.h"
#include "core/philox.h"

using namespace mpt;
using namespace mpt::cpu;

namespace {

bool is_baseline() {
    return instruction_set() == InstructionSet::kBaseline;
}

// 64-byte aligned.
template <typename T>
struct Buffer {
    std::vector<T> memory;
    T* data;
    explicit Buffer(std::int64_t count) : memory(static_cast<std::size_t>(count) + 64 / sizeof(T)) {
        data = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    }
};

Buffer<float> drawn(std::int64_t count, std::uint64_t key) {
    Buffer<float> buffer(count);
    RandomStream random(9, RandomPurpose::kSample, key);
    for (std::int64_t i = 0; i < count; ++i) buffer.data[i] = random.uniform() * 2 - 1;
    return buffer;
}

std::vector<const TileSet*> tile_sets() {
    std::vector<const TileSet*> sets = {&tiles_avx2()};
    if (instruction_set() == InstructionSet::kAvx512) sets.push_back(&tiles_avx512());
    if (has_bf16_products()) sets.push_back(&tiles_bf16_avx512());
    return sets;
}

// What an element of a panel holds: an f32, or two bf16.
std::vector<double> values_of(float element, int values) {
    if (values == 1) return {static_cast<double>(element)};
    std::uint32_t bits = 0;
    std::memcpy(&bits, &element, sizeof bits);
    return {static_cast<double>(bf16_value(static_cast<std::uint16_t>(bits))),
            static_cast<double>(bf16_value(static_cast<std::uint16_t>(bits >> 16)))};
}

void check_tile(const TileSet& tiles, int rows, const float* start, bool add) {
    constexpr std::int64_t kDepth = 37;
    // Two bf16 of an f32 drawn at random: its lower half would be any number, so both are the upper one.
    const auto panel = [&](std::int64_t count, std::uint64_t key) {
        Buffer<float> buffer = drawn(count, key);
        if (tiles.values == 2)
            for (std::int64_t i = 0; i < count; ++i) {
                const std::uint32_t half = bf16_bits(buffer.data[i]);
                const std::uint32_t both = half | half << 16;
                std::memcpy(&buffer.data[i], &both, sizeof both);
            }
        return buffer;
    };
    const Buffer<float> a = panel(kDepth * tiles.a_row, 1), b = panel(kDepth * tiles.columns, 2);
    const std::int64_t row = tiles.columns + 5;
    Buffer<float> c = drawn(rows * row, 3);
    const std::vector<float> before(c.data, c.data + rows * row);
    tiles.run[rows]({a.data, b.data, kDepth, c.data, row, start, add});
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t n = 0; n < row; ++n) {
            const auto at = static_cast<std::size_t>(r * row + n);
            if (n >= tiles.columns) {
                CHECK(c.data[at] == before[at]);
                continue;
            }
            double sum = add ? static_cast<double>(before[at])
                             : (start == nullptr ? 0.0 : static_cast<double>(start[n]));
            for (std::int64_t p = 0; p < kDepth; ++p) {
                const auto left = values_of(a.data[p * tiles.a_row + r], tiles.values);
                const auto right = values_of(b.data[p * tiles.columns + n], tiles.values);
                for (std::size_t v = 0; v < left.size(); ++v) sum += left[v] * right[v];
            }
            CHECK(std::abs(static_cast<double>(c.data[at]) - sum) < 2e-5);
        }
}

}  // namespace

TEST_CASE("every tile of a product gives its sums, from zero, from a row and from what is there") {
    if (is_baseline()) return;
    const Buffer<float> start = drawn(64, 4);
    for (const TileSet* tiles : tile_sets())
        for (int rows = 1; rows <= tiles->rows; ++rows) {
            CAPTURE(tiles->columns, tiles->values, rows);
            check_tile(*tiles, rows, nullptr, false);
            check_tile(*tiles, rows, start.data, false);
            check_tile(*tiles, rows, nullptr, true);
        }
}

namespace {

std::vector<float> product(const MatmulSpec& spec, int num_threads) {
    const Buffer<float> a = drawn(spec.m * spec.k, 5), b = drawn(spec.n * spec.k, 6), bias = drawn(spec.n, 7);
    Buffer<float> c = drawn(spec.m * spec.n, 8);
    const std::size_t bytes = matmul_workspace_bytes(spec, num_threads);
    Buffer<float> workspace(static_cast<std::int64_t>(bytes / sizeof(float)));
    matmul(spec, {a.data, b.data, c.data, bias.data, nullptr, workspace.data}, num_threads);
    return {c.data, c.data + spec.m * spec.n};
}

// The same by f64 loops over the same values.
std::vector<double> expected(const MatmulSpec& s) {
    const Buffer<float> a = drawn(s.m * s.k, 5), b = drawn(s.n * s.k, 6), bias = drawn(s.n, 7);
    const Buffer<float> c = drawn(s.m * s.n, 8);
    std::vector<double> sums;
    for (std::int64_t m = 0; m < s.m; ++m)
        for (std::int64_t n = 0; n < s.n; ++n) {
            double sum = s.accumulate ? static_cast<double>(c.data[m * s.n + n])
                                      : (s.bias ? static_cast<double>(bias.data[n]) : 0.0);
            for (std::int64_t k = 0; k < s.k; ++k)
                sum += static_cast<double>(a.data[s.a.transposed ? k * s.m + m : m * s.k + k]) *
                       static_cast<double>(b.data[s.b.transposed ? n * s.k + k : k * s.n + n]);
            sums.push_back(sum);
        }
    return sums;
}

}  // namespace

TEST_CASE("products of all layouts and awkward sizes agree with f64 loops, bit by bit with any threads") {
    if (is_baseline()) return;
    struct Size {
        std::int64_t m, n, k;
    };
    // The second is large enough for three threads; the third has three blocks of k; then few rows. The last
    // two have several blocks of k over all rows, and over blocks of rows.
    for (const auto& [m, n, k] : {Size{1, 1, 1}, Size{85, 131, 90}, Size{30, 70, 2100}, Size{3, 200, 190},
                                  Size{300, 75, 1100}, Size{1300, 70, 800}})
        for (const bool of_a : {false, true})
            for (const bool of_b : {false, true})
                for (const bool accumulate : {false, true}) {
                    CAPTURE(m, n, k, of_a, of_b, accumulate);
                    MatmulSpec spec{.m = m, .n = n, .k = k};
                    spec.a.transposed = of_a;
                    spec.b.transposed = of_b;
                    spec.accumulate = accumulate;
                    spec.bias = !accumulate;
                    const std::vector<float> one = product(spec, 1);
                    CHECK(product(spec, 2) == one);
                    CHECK(product(spec, 3) == one);
                    const std::vector<double> sums = expected(spec);
                    double worst = 0;
                    for (std::size_t i = 0; i < sums.size(); ++i)
                        worst = std::max(worst, std::abs(static_cast<double>(one[i]) - sums[i]));
                    CHECK(worst < 1e-6 * std::sqrt(static_cast<double>(k)) + 2e-7 * static_cast<double>(k));
                }
}

namespace {

// The bits of c, which is f32 or bf16, after a product with every operand drawn.
std::vector<std::uint8_t> bits_of_product(const MatmulSpec& spec, int num_threads) {
    const Buffer<float> a = drawn(spec.m * spec.k, 5), b = drawn(spec.n * spec.k, 6),
                        x = drawn(spec.m * spec.n, 7);
    Buffer<float> c = drawn(spec.m * spec.n, 8);
    Buffer<float> workspace(
        static_cast<std::int64_t>(matmul_workspace_bytes(spec, num_threads) / sizeof(float)));
    matmul(spec, {a.data, b.data, c.data, nullptr, x.data, workspace.data}, num_threads);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(c.data);
    return {bytes, bytes + spec.m * spec.n * static_cast<std::int64_t>(size_of(spec.c))};
}

}  // namespace

TEST_CASE("threads that share columns or rows of a product leave the bits of one thread") {
    if (is_baseline()) return;
    struct Size {
        std::int64_t m, n, k;
    };
    // Columns in one and in several blocks of k, of which some are narrow enough to be shared by four; rows.
    for (const auto& [m, n, k] :
         {Size{200, 500, 150}, Size{200, 1100, 1700}, Size{2000, 90, 200}, Size{3000, 70, 900}})
        for (const DType c : {DType::f32, DType::bf16})
            for (const Pointwise derivative : {Pointwise::kIdentity, Pointwise::kGeluTanh}) {
                MatmulSpec spec{.m = m, .n = n, .k = k};
                spec.c = c;
                spec.derivative_at_x = derivative;
                spec.b.transposed = m % 400 == 200;
                spec.accumulate = c == DType::f32 && derivative == Pointwise::kIdentity;
                CAPTURE(m, n, k, static_cast<int>(c), static_cast<int>(derivative));
                const auto one = bits_of_product(spec, 1);
                for (const int threads : {2, 4})
                    for (int again = 0; again < 3; ++again) CHECK(bits_of_product(spec, threads) == one);
            }
}

namespace {

template <typename T>
std::vector<T> narrowed(const Buffer<float>& values, std::int64_t count) {
    std::vector<T> narrow;
    for (std::int64_t i = 0; i < count; ++i) narrow.push_back(T(values.data[i]));
    return narrow;
}

// Largest error of a product of narrow operands, in units of the last place of the greatest sum.
template <typename T>
double error_of_narrow(MatmulSpec spec, DType dtype, int num_threads) {
    spec.a.dtype = spec.b.dtype = spec.c = dtype;
    const auto a = narrowed<T>(drawn(spec.m * spec.k, 5), spec.m * spec.k),
               b = narrowed<T>(drawn(spec.n * spec.k, 6), spec.n * spec.k);
    std::vector<T> c(static_cast<std::size_t>(spec.m * spec.n));
    Buffer<float> workspace(
        static_cast<std::int64_t>(matmul_workspace_bytes(spec, num_threads) / sizeof(float)));
    matmul(spec, {a.data(), b.data(), c.data(), nullptr, nullptr, workspace.data}, num_threads);
    double worst = 0, greatest = 0;
    for (std::int64_t m = 0; m < spec.m; ++m)
        for (std::int64_t n = 0; n < spec.n; ++n) {
            double sum = 0;
            for (std::int64_t k = 0; k < spec.k; ++k)
                sum += static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(m * spec.k + k)])) *
                       static_cast<double>(static_cast<float>(
                           b[static_cast<std::size_t>(spec.b.transposed ? n * spec.k + k : k * spec.n + n)]));
            const double got =
                static_cast<double>(static_cast<float>(c[static_cast<std::size_t>(m * spec.n + n)]));
            worst = std::max(worst, std::abs(got - sum));
            greatest = std::max(greatest, std::abs(sum));
        }
    return worst / greatest;
}

}  // namespace

TEST_CASE("products of narrow operands through several blocks are rounded once") {
    if (is_baseline()) return;
    for (const bool of_b : {false, true})
        for (const auto& [m, k] : {std::pair<std::int64_t, std::int64_t>{300, 1700}, {1300, 1000}}) {
            MatmulSpec spec{.m = m, .n = 45, .k = k};
            spec.b.transposed = of_b;
            CAPTURE(m, k, of_b);
            CHECK(error_of_narrow<f16>(spec, DType::f16, 2) < 1.1 * 0x1p-11);
            CHECK(error_of_narrow<bf16>(spec, DType::bf16, 2) < 1.1 * 0x1p-8);
        }
}

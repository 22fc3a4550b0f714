// The passes and Winograd's transforms of each instruction set that this machine has, against plain loops.
#include "backends/cpu/conv_passes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "backends/cpu/conv_winograd_passes.h"
#include "backends/cpu/instruction_set.h"
#include "core/float_formats.h"
#include "core/philox.h"

namespace mpt::cpu {
namespace {

using Size = std::ptrdiff_t;

std::vector<float> random_floats(Size count, std::uint64_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomStream stream(seed, RandomPurpose::kSynthetic, 0);
    for (float& value : values) value = stream.normal();
    return values;
}

struct Tables {
    const char* name;
    const ConvPasses* passes;
    const WinogradPasses* winograd;
};

std::vector<Tables> tables() {
    std::vector<Tables> result;
    if (instruction_set() != InstructionSet::kBaseline)
        result.push_back({"avx2", &kConvPassesAvx2, &kWinogradPassesAvx2});
    if (instruction_set() == InstructionSet::kAvx512)
        result.push_back({"avx512", &kConvPassesAvx512, &kWinogradPassesAvx512});
    return result;
}

std::vector<std::uint16_t> narrowed(const std::vector<float>& values, DType type) {
    std::vector<std::uint16_t> bits;
    for (const float value : values) bits.push_back(type == DType::f16 ? f16_bits(value) : bf16_bits(value));
    return bits;
}

float widened(std::uint16_t bits, DType type) {
    return type == DType::f16 ? f16_value(bits) : bf16_value(bits);
}

// The last block is partly filled, or all channels fit one block exactly, or they end in the middle of a
// vector.
const std::vector<std::vector<Size>> kChannelsAndBlocks = {{16, 16},  {32, 32}, {64, 64}, {80, 16},
                                                           {100, 16}, {7, 16},  {40, 48}};

TEST_CASE("passes: input fill is relu of an affine map in blocked order", "[conv]") {
    for (const Tables& table : tables()) {
        for (const auto& sizes : kChannelsAndBlocks) {
            for (const DType type : {DType::f16, DType::bf16}) {
                const Size pixels = 5, channels = sizes[0], block = sizes[1],
                           blocks = (channels + block - 1) / block;
                INFO(table.name << " " << name_of(type) << " channels " << channels << " block " << block);
                const std::vector<std::uint16_t> x = narrowed(random_floats(pixels * channels, 1), type);
                const std::vector<float> scale = random_floats(channels, 2),
                                         shift = random_floats(channels, 3);
                std::vector<float> target(static_cast<std::size_t>(blocks * pixels * block), -1.0f);
                table.passes->fill_input({{x.data(), type, channels},
                                          pixels,
                                          channels,
                                          target.data(),
                                          block,
                                          pixels * block,
                                          scale.data(),
                                          shift.data(),
                                          true});
                for (Size p = 0; p < pixels; ++p) {
                    for (Size c = 0; c < blocks * block; ++c) {
                        const float got =
                            target[static_cast<std::size_t>((c / block * pixels + p) * block + c % block)];
                        float want = 0;
                        if (c < channels) {
                            const auto i = static_cast<std::size_t>(c);
                            want = widened(x[static_cast<std::size_t>(p * channels + c)], type);
                            want = std::max(0.0f, std::fma(scale[i], want, shift[i]));
                        }
                        REQUIRE(got == want);
                    }
                }
            }
        }
    }
}

TEST_CASE("passes: stores round to nearest even, cached or past the caches, and sum what they stored",
          "[conv]") {
    for (const Tables& table : tables()) {
        for (const Size channels : {16, 40, 64, 9}) {
            for (const DType type : {DType::f16, DType::bf16}) {
                for (const bool stream : {false, true}) {
                    INFO(table.name << " " << name_of(type) << " channels " << channels << " stream "
                                    << stream);
                    const Size pixels = 6, block = 64;
                    std::vector<float> tile = random_floats(pixels * block, 4);
                    tile[1] = std::nanf("");
                    tile[2] = 1e30f;
                    tile[3] = 1e-7f;
                    alignas(64) std::uint16_t y[6 * 64] = {};
                    std::vector<double> sum(64), square_sum(64);
                    OutputStore store;
                    store.tile = tile.data();
                    store.pixels = pixels;
                    store.block = block;
                    store.channels = store.pixel = channels;
                    store.y = y;
                    store.type = type;
                    store.stream = stream;
                    store.sum = sum.data();
                    store.square_sum = square_sum.data();
                    table.passes->store_output(store);
                    for (Size c = 0; c < channels; ++c) {
                        double want_sum = 0;
                        for (Size p = 0; p < pixels; ++p) {
                            const float value = tile[static_cast<std::size_t>(p * block + c)];
                            const std::uint16_t want =
                                type == DType::f16 ? f16_bits(value) : bf16_bits(value);
                            REQUIRE(y[p * channels + c] == want);
                            want_sum += static_cast<double>(widened(want, type));
                        }
                        if (c < 1 || c > 2)
                            CHECK(sum[static_cast<std::size_t>(c)] == Approx(want_sum).margin(1e-5));
                    }
                }
            }
        }
    }
}

TEST_CASE("passes: packing transposes and fills up with zeros, partials are added in order", "[conv]") {
    for (const Tables& table : tables()) {
        INFO(table.name);
        const Size rows = 21, columns = 35, target_row = 48;
        const std::vector<float> source = random_floats(rows * columns, 5);
        std::vector<float> target(static_cast<std::size_t>(columns * target_row), -1.0f);
        table.passes->pack_transposed({source.data(), DType::f32, columns}, rows, columns, target.data(),
                                      target_row);
        for (Size j = 0; j < columns; ++j)
            for (Size i = 0; i < target_row; ++i)
                REQUIRE(target[static_cast<std::size_t>(j * target_row + i)] ==
                        (i < rows ? source[static_cast<std::size_t>(i * columns + j)]
                         : i < 32 ? 0.0f
                                  : -1.0f));

        const std::vector<float> partials = random_floats(3 * 40, 6), before = random_floats(37, 7);
        std::vector<float> sum = before;
        table.passes->add_partials(sum.data(), partials.data(), 37, 3, 40);
        for (std::size_t i = 0; i < 37; ++i)
            REQUIRE(sum[i] == before[i] + ((partials[i] + partials[40 + i]) + partials[80 + i]));
    }
}

TEST_CASE("winograd: transforms make a 3x3 convolution and its weight gradient", "[conv]") {
    for (const Tables& table : tables()) {
        INFO(table.name);
        // Three tiles of one row: 4 x 8 inputs, 2 x 6 outputs, 16 channels that do not mix.
        const Size n = 16, tiles = 3, in_width = 8, out_width = 6;
        const std::vector<float> x = random_floats(4 * in_width * n, 8), w = random_floats(9 * n, 9);
        const std::vector<float> dy = random_floats(2 * out_width * n, 10);
        std::vector<float> v(16 * 3 * 16), u(16 * 16), d(v.size()), m(v.size()), du(16 * 16), y(dy.size()),
            dw(9 * 16);
        table.winograd->transform_input({tiles, n, in_width * n, tiles * n}, x.data(), v.data());
        table.winograd->transform_gradient({tiles, n, out_width * n, tiles * n}, dy.data(), d.data());
        table.winograd->transform_weights(w.data(), DType::f32, n, n, false, u.data(), n);
        for (std::size_t product = 0; product < 16; ++product) {
            for (std::size_t i = 0; i < 3 * 16; ++i) {
                m[product * 48 + i] = v[product * 48 + i] * u[product * 16 + i % 16];
                du[product * 16 + i % 16] += v[product * 48 + i] * d[product * 48 + i];
            }
        }
        table.winograd->transform_output({tiles, n, out_width * n, tiles * n}, m.data(), y.data(), 2,
                                         out_width);
        table.winograd->add_weight_gradient(du.data(), n, 1, 0, n, dw.data(), n);
        std::vector<double> want_y(y.size()), want_dw(dw.size());
        for (Size p = 0; p < 2; ++p)
            for (Size q = 0; q < out_width; ++q)
                for (Size tap = 0; tap < 9; ++tap)
                    for (Size c = 0; c < n; ++c) {
                        const auto i =
                            static_cast<std::size_t>(((p + tap / 3) * in_width + q + tap % 3) * n + c);
                        const auto o = static_cast<std::size_t>((p * out_width + q) * n + c);
                        const auto t = static_cast<std::size_t>(tap * n + c);
                        want_y[o] += static_cast<double>(x[i]) * static_cast<double>(w[t]);
                        want_dw[t] += static_cast<double>(x[i]) * static_cast<double>(dy[o]);
                    }
        for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Approx(want_y[i]).margin(2e-5));
        for (std::size_t i = 0; i < dw.size(); ++i) CHECK(dw[i] == Approx(want_dw[i]).margin(4e-5));
    }
}

}  // namespace
}  // namespace mpt::cpu

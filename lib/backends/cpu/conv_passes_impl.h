// The passes over any lanes type L. Included only by conv_passes_avx2.cpp and conv_passes_avx512.cpp;
// everything depends on L, so that no function compiled for one instruction set can be linked in place of the
// other's.
#pragma once

#include <cstring>

#include "backends/cpu/conv_passes.h"

namespace mpt::cpu {

// How a tensor's elements are read and written. kMixed asks the tensor itself at every vector.
enum class Storage { kF32, kF16, kBf16, kMixed };

template <class L, Storage S>
struct Access {
    // Loads lanes from element `i` on; `count` < L::kCount touches no element past count, the rest is zero.
    static L load(const void* data, DType type, std::ptrdiff_t i) {
        if (S == Storage::kF32 || (S == Storage::kMixed && type == DType::f32))
            return L::load(static_cast<const float*>(data) + i);
        const std::uint16_t* narrow = static_cast<const std::uint16_t*>(data) + i;
        if (S == Storage::kF16 || (S == Storage::kMixed && type == DType::f16)) return L::load_f16(narrow);
        return L::load_bf16(narrow);
    }
    static L load_some(const void* data, DType type, std::ptrdiff_t i, std::ptrdiff_t count) {
        alignas(64) unsigned char buffer[L::kCount * 4] = {};
        const std::ptrdiff_t bytes = type == DType::f32 ? 4 : 2;
        std::memcpy(buffer, static_cast<const unsigned char*>(data) + i * bytes,
                    static_cast<std::size_t>(count * bytes));
        return Access<L, Storage::kMixed>::load(buffer, type, 0);
    }
    template <bool Stream = false>
    static L store(L value, void* data, DType type, std::ptrdiff_t i) {
        if (S == Storage::kF32 || (S == Storage::kMixed && type == DType::f32)) {
            value.template store<Stream>(static_cast<float*>(data) + i);
            return value;
        }
        std::uint16_t* narrow = static_cast<std::uint16_t*>(data) + i;
        if (S == Storage::kF16 || (S == Storage::kMixed && type == DType::f16))
            return value.template store_f16<Stream>(narrow);
        return value.template store_bf16<Stream>(narrow);
    }
    static L store_some(L value, void* data, DType type, std::ptrdiff_t i, std::ptrdiff_t count) {
        alignas(64) unsigned char buffer[L::kCount * 4];
        const L rounded = Access<L, Storage::kMixed>::store(value, buffer, type, 0);
        const std::ptrdiff_t bytes = type == DType::f32 ? 4 : 2;
        std::memcpy(static_cast<unsigned char*>(data) + i * bytes, buffer,
                    static_cast<std::size_t>(count * bytes));
        return rounded;
    }
};

template <class L>
L load_some_floats(const float* p, std::ptrdiff_t count) {
    return Access<L, Storage::kF32>::load_some(p, DType::f32, 0, count);
}

// Calls body.template operator()<S>() for the storage that fits all of `types`.
template <class L, class Body>
void with_storage(const DType* types, int count, const Body& body) {
    bool same = true;
    for (int i = 1; i < count; ++i) same = same && types[i] == types[0];
    if (!same) return body.template operator()<Storage::kMixed>();
    if (types[0] == DType::f32) return body.template operator()<Storage::kF32>();
    if (types[0] == DType::f16) return body.template operator()<Storage::kF16>();
    return body.template operator()<Storage::kBf16>();
}

template <class L>
struct Passes {
    // Goes over channels in whole vectors, then the last partial one, then zeros up to the padded block.
    template <class Full, class Some>
    static void fill_pixel(std::ptrdiff_t channels, float* target, std::ptrdiff_t block,
                           std::ptrdiff_t target_block, const Full& full, const Some& some) {
        std::ptrdiff_t c = 0;
        for (; c < channels; target += target_block) {
            std::ptrdiff_t in_block = 0;
            for (; in_block < block && c + L::kCount <= channels; in_block += L::kCount, c += L::kCount)
                full(c).store(target + in_block);
            if (in_block < block && c < channels) {
                some(c, channels - c).store(target + in_block);
                in_block += L::kCount;
                c = channels;
            }
            for (; in_block < block; in_block += L::kCount) L::zero().store(target + in_block);
        }
    }

    // One block of exactly N vectors holds all channels: their parameters stay in registers.
    template <Storage S, bool Affine, bool Relu, int N>
    static void fill_input_block(const InputFill& f) {
        L scale[N], shift[N];
        for (int v = 0; v < N && Affine; ++v) {
            scale[v] = L::load(f.scale + v * L::kCount);
            shift[v] = L::load(f.shift + v * L::kCount);
        }
        for (std::ptrdiff_t p = 0; p < f.pixels; ++p) {
            for (int v = 0; v < N; ++v) {
                L x = Access<L, S>::load(f.source.data, f.source.type, p * f.source.pixel + v * L::kCount);
                if (Affine) x = L::fma(scale[v], x, shift[v]);
                if (Relu) x = x.relu();
                x.store(f.target + p * f.block + v * L::kCount);
            }
        }
    }

    template <Storage S, bool Affine, bool Relu>
    static void fill_input_rows(const InputFill& f) {
        using A = Access<L, S>;
        const DType type = f.source.type;
        if (f.channels == f.block && f.channels == L::kCount) return fill_input_block<S, Affine, Relu, 1>(f);
        if (f.channels == f.block && f.channels == 2 * L::kCount)
            return fill_input_block<S, Affine, Relu, 2>(f);
        if (f.channels == f.block && f.channels == 4 * L::kCount)
            return fill_input_block<S, Affine, Relu, 4>(f);
        for (std::ptrdiff_t p = 0; p < f.pixels; ++p) {
            const std::ptrdiff_t at = p * f.source.pixel;
            fill_pixel(
                f.channels, f.target + p * f.block, f.block, f.target_block,
                [&](std::ptrdiff_t c) {
                    L x = A::load(f.source.data, type, at + c);
                    if (Affine) x = L::fma(L::load(f.scale + c), x, L::load(f.shift + c));
                    return Relu ? x.relu() : x;
                },
                [&](std::ptrdiff_t c, std::ptrdiff_t n) {
                    L x = A::load_some(f.source.data, type, at + c, n);
                    if (Affine)
                        x = L::fma(load_some_floats<L>(f.scale + c, n), x,
                                   load_some_floats<L>(f.shift + c, n));
                    return Relu ? x.relu() : x;
                });
        }
    }

    static void fill_input(const InputFill& f) {
        with_storage<L>(&f.source.type, 1, [&]<Storage S>() {
            if (f.scale != nullptr && f.relu) return fill_input_rows<S, true, true>(f);
            if (f.scale != nullptr) return fill_input_rows<S, true, false>(f);
            if (f.relu) return fill_input_rows<S, false, true>(f);
            fill_input_rows<S, false, false>(f);
        });
    }

    template <Storage S, int N>
    static void fill_gradient_block(const GradientFill& f) {
        using A = Access<L, S>;
        L a[N], b[N], c[N];
        for (int v = 0; v < N; ++v) {
            a[v] = L::load(f.a + v * L::kCount);
            b[v] = L::load(f.b + v * L::kCount);
            c[v] = L::load(f.c + v * L::kCount);
        }
        for (std::ptrdiff_t p = 0; p < f.pixels; ++p) {
            for (int v = 0; v < N; ++v) {
                const std::ptrdiff_t i = v * L::kCount;
                const L by = L::fma(b[v], A::load(f.y.data, f.y.type, p * f.y.pixel + i), c[v]);
                const L dy = L::fma(a[v], A::load(f.g.data, f.g.type, p * f.g.pixel + i), by);
                dy.store(f.target + p * f.block + i);
            }
        }
    }

    template <Storage S>
    static void fill_gradient_affine(const GradientFill& f) {
        using A = Access<L, S>;
        if (f.channels == f.block && f.channels == L::kCount) return fill_gradient_block<S, 1>(f);
        if (f.channels == f.block && f.channels == 2 * L::kCount) return fill_gradient_block<S, 2>(f);
        if (f.channels == f.block && f.channels == 4 * L::kCount) return fill_gradient_block<S, 4>(f);
        for (std::ptrdiff_t p = 0; p < f.pixels; ++p) {
            const std::ptrdiff_t at_g = p * f.g.pixel, at_y = p * f.y.pixel;
            fill_pixel(
                f.channels, f.target + p * f.block, f.block, f.target_block,
                [&](std::ptrdiff_t c) {
                    const L by =
                        L::fma(L::load(f.b + c), A::load(f.y.data, f.y.type, at_y + c), L::load(f.c + c));
                    return L::fma(L::load(f.a + c), A::load(f.g.data, f.g.type, at_g + c), by);
                },
                [&](std::ptrdiff_t c, std::ptrdiff_t n) {
                    const L y = A::load_some(f.y.data, f.y.type, at_y + c, n);
                    const L by = L::fma(load_some_floats<L>(f.b + c, n), y, load_some_floats<L>(f.c + c, n));
                    return L::fma(load_some_floats<L>(f.a + c, n),
                                  A::load_some(f.g.data, f.g.type, at_g + c, n), by);
                });
        }
    }

    static void fill_gradient(const GradientFill& f) {
        if (f.a == nullptr)
            return fill_input(
                {f.g, f.pixels, f.channels, f.target, f.block, f.target_block, nullptr, nullptr, false});
        const DType types[] = {f.g.type, f.y.type};
        with_storage<L>(types, 2, [&]<Storage S>() { fill_gradient_affine<S>(f); });
    }

    static void add_lanes(double* sums, L value, std::ptrdiff_t count) {
        alignas(64) float lanes[L::kCount];
        value.store(lanes);
        for (std::ptrdiff_t i = 0; i < count; ++i) sums[i] += static_cast<double>(lanes[i]);
    }

    // Whole aligned vectors only.
    static bool can_stream(const void* data, DType type, std::ptrdiff_t pixel) {
        const std::ptrdiff_t bytes = L::kCount * (type == DType::f32 ? 4 : 2);
        return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0 &&
               pixel % L::kCount == 0;
    }

    // N vectors of channels from channel `c` on; `some` > 0: one partial vector of that many channels.
    template <Storage S, int N, bool Stream>
    static void store_output_channels(const OutputStore& o, std::ptrdiff_t c, std::ptrdiff_t some) {
        using A = Access<L, S>;
        L sum[N], square[N];
        for (int v = 0; v < N; ++v) sum[v] = square[v] = L::zero();
        for (std::ptrdiff_t p = 0; p < o.pixels; ++p) {
            for (int v = 0; v < N; ++v) {
                L y = L::load(o.tile + p * o.block + c + v * L::kCount);
                const std::ptrdiff_t at = p * o.pixel + c + v * L::kCount;
                y = some > 0 ? A::store_some(y, o.y, o.type, at, some)
                             : A::template store<Stream>(y, o.y, o.type, at);
                sum[v] = sum[v] + y;
                square[v] = L::fma(y, y, square[v]);
            }
        }
        if (o.sum == nullptr) return;
        for (int v = 0; v < N; ++v) {
            add_lanes(o.sum + c + v * L::kCount, sum[v], some > 0 ? some : L::kCount);
            add_lanes(o.square_sum + c + v * L::kCount, square[v], some > 0 ? some : L::kCount);
        }
    }

    template <Storage S, bool Stream>
    static void store_output_all(const OutputStore& o) {
        constexpr std::ptrdiff_t n = L::kCount;
        std::ptrdiff_t c = 0;
        for (; c + 4 * n <= o.channels; c += 4 * n) store_output_channels<S, 4, Stream>(o, c, 0);
        for (; c + 2 * n <= o.channels; c += 2 * n) store_output_channels<S, 2, Stream>(o, c, 0);
        for (; c + n <= o.channels; c += n) store_output_channels<S, 1, Stream>(o, c, 0);
        if (c < o.channels) store_output_channels<S, 1, false>(o, c, o.channels - c);
    }

    static void store_output(const OutputStore& o) {
        const bool stream = o.stream && can_stream(o.y, o.type, o.pixel);
        with_storage<L>(&o.type, 1, [&]<Storage S>() {
            if (stream) return store_output_all<S, true>(o);
            store_output_all<S, false>(o);
        });
    }

    template <Storage S, int N, bool Some, bool Stream>
    static void store_gradient_channels(const GradientStore& o, std::ptrdiff_t c, std::ptrdiff_t some) {
        using A = Access<L, S>;
        const auto load = [&](const void* data, DType type, std::ptrdiff_t at) {
            return Some ? A::load_some(data, type, at, some) : A::load(data, type, at);
        };
        L sums[3][N], scale[N], shift[N];
        for (int v = 0; v < N; ++v) {
            for (auto& sum : sums) sum[v] = L::zero();
            const std::ptrdiff_t at = c + v * L::kCount;
            scale[v] =
                o.scale != nullptr ? load_some_floats<L>(o.scale + at, Some ? some : L::kCount) : L::zero();
            shift[v] =
                o.scale != nullptr ? load_some_floats<L>(o.shift + at, Some ? some : L::kCount) : L::zero();
        }
        for (std::ptrdiff_t p = 0; p < o.pixels; ++p) {
            for (int v = 0; v < N; ++v) {
                L d = L::load(o.tile + p * o.block + c + v * L::kCount);
                const std::ptrdiff_t at = p * o.pixel + c + v * L::kCount;
                if (o.addend != nullptr) d = d + load(o.addend, o.addend_type, at);
                if (o.mask != nullptr) {
                    const L x = load(o.mask, o.mask_type, at);
                    d = d.where_positive(o.scale != nullptr ? L::fma(scale[v], x, shift[v]) : x);
                }
                d = Some ? A::store_some(d, o.dx, o.dx_type, at, some)
                         : A::template store<Stream>(d, o.dx, o.dx_type, at);
                sums[0][v] = sums[0][v] + d;
                for (int r = 0; r < 2; ++r)
                    if (o.references[r] != nullptr)
                        sums[r + 1][v] =
                            L::fma(d, load(o.references[r], o.reference_type, at), sums[r + 1][v]);
            }
        }
        for (int r = 0; r < 3; ++r)
            for (int v = 0; v < N && o.sums[r] != nullptr; ++v)
                add_lanes(o.sums[r] + c + v * L::kCount, sums[r][v], Some ? some : L::kCount);
    }

    template <Storage S, bool Stream>
    static void store_gradient_all(const GradientStore& o) {
        constexpr std::ptrdiff_t n = L::kCount;
        std::ptrdiff_t c = 0;
        for (; c + 4 * n <= o.channels; c += 4 * n) store_gradient_channels<S, 4, false, Stream>(o, c, 0);
        for (; c + 2 * n <= o.channels; c += 2 * n) store_gradient_channels<S, 2, false, Stream>(o, c, 0);
        for (; c + n <= o.channels; c += n) store_gradient_channels<S, 1, false, Stream>(o, c, 0);
        if (c < o.channels) store_gradient_channels<S, 1, true, false>(o, c, o.channels - c);
    }

    static void store_gradient(const GradientStore& o) {
        DType types[4] = {o.dx_type, o.dx_type, o.dx_type, o.dx_type};
        if (o.addend != nullptr) types[1] = o.addend_type;
        if (o.mask != nullptr) types[2] = o.mask_type;
        if (o.references[0] != nullptr) types[3] = o.reference_type;
        const bool stream = o.stream && can_stream(o.dx, o.dx_type, o.pixel);
        with_storage<L>(types, 4, [&]<Storage S>() {
            if (stream) return store_gradient_all<S, true>(o);
            store_gradient_all<S, false>(o);
        });
    }

    // In squares of kCount x kCount, so that both sides are touched a cache line at a time.
    static void pack_transposed(const PixelRun& source, std::ptrdiff_t rows, std::ptrdiff_t columns,
                                float* target, std::ptrdiff_t target_row) {
        constexpr std::ptrdiff_t n = 16;
        alignas(64) float square[n][n];
        for (std::ptrdiff_t j = 0; j < columns; j += n) {
            const std::ptrdiff_t width = columns - j < n ? columns - j : n;
            for (std::ptrdiff_t i = 0; i < rows; i += n) {
                for (std::ptrdiff_t k = 0; k < n; ++k) {
                    for (std::ptrdiff_t u = 0; u < n; u += L::kCount) {
                        L value = L::zero();
                        const std::ptrdiff_t left = width - u, at = (i + k) * source.pixel + j + u;
                        if (i + k < rows && left >= L::kCount)
                            value = Access<L, Storage::kMixed>::load(source.data, source.type, at);
                        else if (i + k < rows && left > 0)
                            value = Access<L, Storage::kMixed>::load_some(source.data, source.type, at, left);
                        value.store(&square[k][u]);
                    }
                }
                for (std::ptrdiff_t u = 0; u < width; ++u) {
                    alignas(64) float column[n];
                    for (std::ptrdiff_t k = 0; k < n; ++k) column[k] = square[k][u];
                    for (std::ptrdiff_t k = 0; k < n; k += L::kCount)
                        L::load(column + k).store(target + (j + u) * target_row + i + k);
                }
            }
        }
    }

    static void add_partials(float* target, const float* partials, std::ptrdiff_t elements, int count,
                             std::ptrdiff_t stride) {
        const auto total = [&](std::ptrdiff_t i, std::ptrdiff_t n) {
            L sum = n < L::kCount ? load_some_floats<L>(partials + i, n) : L::load(partials + i);
            for (int t = 1; t < count; ++t) {
                const float* more = partials + t * stride + i;
                sum = sum + (n < L::kCount ? load_some_floats<L>(more, n) : L::load(more));
            }
            return sum;
        };
        std::ptrdiff_t i = 0;
        for (; i + L::kCount <= elements; i += L::kCount)
            (L::load(target + i) + total(i, L::kCount)).store(target + i);
        if (i == elements) return;
        const std::ptrdiff_t n = elements - i;
        const L sum = load_some_floats<L>(target + i, n) + total(i, n);
        Access<L, Storage::kF32>::store_some(sum, target, DType::f32, i, n);
    }

    static constexpr ConvPasses table() {
        return {fill_input, fill_gradient, store_output, store_gradient, pack_transposed, add_partials};
    }
};

}  // namespace mpt::cpu

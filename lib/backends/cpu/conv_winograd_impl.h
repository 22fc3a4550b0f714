// The transforms over any lanes type L; see conv_passes_impl.h for why all of it depends on L.
#pragma once

#include "backends/cpu/conv_passes_impl.h"
#include "backends/cpu/conv_winograd_passes.h"

namespace mpt::cpu {

template <class L>
struct Winograd {
    static constexpr std::ptrdiff_t kProducts = 16;

    // B^T x for four values: differences of neighbours one apart.
    static void input_line(const L& x0, const L& x1, const L& x2, const L& x3, L* out) {
        out[0] = x0 - x2;
        out[1] = x1 + x2;
        out[2] = x2 - x1;
        out[3] = x1 - x3;
    }

    // Neighbouring tiles share two columns: those are transformed once and carried along.
    static void transform_input(const TileRow& t, const float* pixels, float* products) {
        for (std::ptrdiff_t c = 0; c < t.block; c += L::kCount) {
            L columns[4][4];  // [column][transformed row]
            const auto column = [&](std::ptrdiff_t x, L* out) {
                const float* p = pixels + x * t.block + c;
                input_line(L::load(p), L::load(p + t.row), L::load(p + 2 * t.row), L::load(p + 3 * t.row),
                           out);
            };
            column(0, columns[0]);
            column(1, columns[1]);
            for (std::ptrdiff_t tile = 0; tile < t.tiles; ++tile) {
                column(2 * tile + 2, columns[2]);
                column(2 * tile + 3, columns[3]);
                float* out = products + tile * t.block + c;
                for (int i = 0; i < 4; ++i) {
                    L line[4];
                    input_line(columns[0][i], columns[1][i], columns[2][i], columns[3][i], line);
                    for (int j = 0; j < 4; ++j) line[j].store(out + (4 * i + j) * t.product);
                }
                for (int i = 0; i < 4; ++i) {
                    columns[0][i] = columns[2][i];
                    columns[1][i] = columns[3][i];
                }
            }
        }
    }

    static void gradient_line(const L& x0, const L& x1, L* out) {
        out[0] = x0;
        out[1] = x0 + x1;
        out[2] = x0 - x1;
        out[3] = L::zero() - x1;
    }

    static void transform_gradient(const TileRow& t, const float* pixels, float* products) {
        for (std::ptrdiff_t tile = 0; tile < t.tiles; ++tile) {
            for (std::ptrdiff_t c = 0; c < t.block; c += L::kCount) {
                const float* p = pixels + 2 * tile * t.block + c;
                L left[4], right[4];
                gradient_line(L::load(p), L::load(p + t.row), left);
                gradient_line(L::load(p + t.block), L::load(p + t.row + t.block), right);
                float* out = products + tile * t.block + c;
                for (int i = 0; i < 4; ++i) {
                    L line[4];
                    gradient_line(left[i], right[i], line);
                    for (int j = 0; j < 4; ++j) line[j].store(out + (4 * i + j) * t.product);
                }
            }
        }
    }

    static void transform_output(const TileRow& t, const float* products, float* pixels, std::ptrdiff_t rows,
                                 std::ptrdiff_t columns) {
        for (std::ptrdiff_t tile = 0; tile < t.tiles; ++tile) {
            const bool second = 2 * tile + 1 < columns;
            for (std::ptrdiff_t c = 0; c < t.block; c += L::kCount) {
                const float* m = products + tile * t.block + c;
                L left[4], right[4];
                for (int i = 0; i < 4; ++i) {
                    const L m0 = L::load(m + 4 * i * t.product), m1 = L::load(m + (4 * i + 1) * t.product);
                    const L m2 = L::load(m + (4 * i + 2) * t.product),
                            m3 = L::load(m + (4 * i + 3) * t.product);
                    left[i] = (m0 + m1) + m2;
                    right[i] = (m1 - m2) - m3;
                }
                float* out = pixels + 2 * tile * t.block + c;
                ((left[0] + left[1]) + left[2]).store(out);
                if (second) ((right[0] + right[1]) + right[2]).store(out + t.block);
                if (rows < 2) continue;
                ((left[1] - left[2]) - left[3]).store(out + t.row);
                if (second) ((right[1] - right[2]) - right[3]).store(out + t.row + t.block);
            }
        }
    }

    static void weight_line(const L& w0, const L& w1, const L& w2, L* out) {
        const L outer = (w0 + w2).times(0.5f), middle = (w1).times(0.5f);
        out[0] = w0;
        out[1] = outer + middle;
        out[2] = outer - middle;
        out[3] = w2;
    }

    static void transform_weights(const void* w, DType type, std::ptrdiff_t tap, std::ptrdiff_t channels,
                                  bool turned, float* products, std::ptrdiff_t product) {
        using A = Access<L, Storage::kMixed>;
        for (std::ptrdiff_t c = 0; c < 16; c += L::kCount) {
            const std::ptrdiff_t left = channels - c;
            L columns[3][4];
            for (int s = 0; s < 3; ++s) {
                L taps[3];
                for (int r = 0; r < 3; ++r) {
                    const std::ptrdiff_t at = (turned ? 8 - (3 * r + s) : 3 * r + s) * tap + c;
                    taps[r] = left >= L::kCount ? A::load(w, type, at)
                              : left > 0        ? A::load_some(w, type, at, left)
                                                : L::zero();
                }
                weight_line(taps[0], taps[1], taps[2], columns[s]);
            }
            for (int i = 0; i < 4; ++i) {
                L line[4];
                weight_line(columns[0][i], columns[1][i], columns[2][i], line);
                for (int j = 0; j < 4; ++j) line[j].store(products + (4 * i + j) * product + c);
            }
        }
    }

    // G^T u for four values.
    static void weight_gradient_line(const L& u0, const L& u1, const L& u2, const L& u3, L* out) {
        const L sum = (u1 + u2).times(0.5f), difference = (u1 - u2).times(0.5f);
        out[0] = u0 + sum;
        out[1] = difference;
        out[2] = sum + u3;
    }

    static void add_weight_gradient(const float* partials, std::ptrdiff_t product, int count,
                                    std::ptrdiff_t partial, std::ptrdiff_t channels, float* dw,
                                    std::ptrdiff_t tap) {
        for (std::ptrdiff_t c = 0; c < channels; c += L::kCount) {
            L rows[4][3];
            for (int i = 0; i < 4; ++i) {
                L u[4];
                for (int j = 0; j < 4; ++j) {
                    const float* at = partials + (4 * i + j) * product + c;
                    u[j] = L::load(at);
                    for (int p = 1; p < count; ++p) u[j] = u[j] + L::load(at + p * partial);
                }
                weight_gradient_line(u[0], u[1], u[2], u[3], rows[i]);
            }
            const std::ptrdiff_t some = channels - c < L::kCount ? channels - c : 0;
            for (int s = 0; s < 3; ++s) {
                L taps[3];
                weight_gradient_line(rows[0][s], rows[1][s], rows[2][s], rows[3][s], taps);
                for (int r = 0; r < 3; ++r) {
                    float* target = dw + (3 * r + s) * tap + c;
                    if (some == 0) {
                        (L::load(target) + taps[r]).store(target);
                    } else {
                        const L sum = load_some_floats<L>(target, some) + taps[r];
                        Access<L, Storage::kF32>::store_some(sum, target, DType::f32, 0, some);
                    }
                }
            }
        }
    }

    static constexpr WinogradPasses table() {
        return {transform_input, transform_gradient, transform_output, transform_weights,
                add_weight_gradient};
    }
};

}  // namespace mpt::cpu

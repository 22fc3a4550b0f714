#include "backends/cuda/host_twin/library_calls.h"

#include <bit>
#include <vector>

#include "core/float_formats.h"

namespace mpt::gpu {

namespace {

float value_at(const void* data, DType dtype, std::size_t index) {
    if (dtype == DType::f16) return static_cast<float>(static_cast<const f16*>(data)[index]);
    if (dtype == DType::bf16) return static_cast<float>(static_cast<const bf16*>(data)[index]);
    return static_cast<const float*>(data)[index];
}
void store_at(void* data, DType dtype, std::size_t index, float value) {
    if (dtype == DType::f16)
        static_cast<f16*>(data)[index] = f16(value);
    else if (dtype == DType::bf16)
        static_cast<bf16*>(data)[index] = bf16(value);
    else
        static_cast<float*>(data)[index] = value;
}

// Ten bits of mantissa, to nearest, ties away, as the conversion of Tensor Cores.
float tf32(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;
    return std::bit_cast<float>((bits + 0x1000u) & 0xffffe000u);
}

std::vector<float> widened(const void* data, DType dtype, std::int64_t elements, bool as_tf32) {
    std::vector<float> values(static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = value_at(data, dtype, i);
        if (as_tf32 && dtype == DType::f32) values[i] = tf32(values[i]);
    }
    return values;
}

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

// Calls body(place in y, in x, in w, channels) for every pixel of y, output channel and tap inside the image.
template <typename F>
void for_each_tap(const ConvolutionSpec& s, const F& body) {
    for (std::int64_t pixel = 0; pixel < s.n * s.p * s.q; ++pixel) {
        const std::int64_t q = pixel % s.q, p = pixel / s.q % s.p, n = pixel / (s.q * s.p);
        for (std::int64_t r = 0; r < s.r; ++r)
            for (std::int64_t t = 0; t < s.s; ++t) {
                const std::int64_t h = p * s.stride - s.pad + r, w = q * s.stride - s.pad + t;
                if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
                for (std::int64_t k = 0; k < s.k; ++k)
                    body(at(pixel * s.k + k), at(((n * s.h + h) * s.w + w) * s.c),
                         at(((k * s.r + r) * s.s + t) * s.c));
            }
    }
}

}  // namespace

void host_product(const ProductSpec& s, const ProductArgs& args) {
    const std::vector<float> a = widened(args.a, s.input, s.m * s.k, s.tf32);
    const std::vector<float> b = widened(args.b, s.input, s.k * s.n, s.tf32);
    std::vector<float> row(at(s.n));
    for (std::int64_t i = 0; i < s.m; ++i) {
        std::fill(row.begin(), row.end(), 0.0f);
        for (std::int64_t l = 0; l < s.k; ++l) {
            const float factor = s.transposed_a ? a[at(l * s.m + i)] : a[at(i * s.k + l)];
            const float* from = s.transposed_b ? b.data() + l : b.data() + l * s.n;
            const std::int64_t step = s.transposed_b ? s.k : 1;
            for (std::int64_t j = 0; j < s.n; ++j) row[at(j)] += factor * from[j * step];
        }
        for (std::int64_t j = 0; j < s.n; ++j) {
            float sum = row[at(j)] + (s.bias ? args.bias[j] : 0.0f);
            if (s.accumulate) sum += value_at(args.d, s.output, at(i * s.n + j));
            store_at(args.d, s.output, at(i * s.n + j), sum);
        }
    }
}

void host_convolution(const ConvolutionSpec& s, const ConvolutionArgs& args) {
    const std::int64_t xs = s.n * s.h * s.w * s.c, ws = s.k * s.r * s.s * s.c, ys = s.n * s.p * s.q * s.k;
    const bool forward = s.kind == ConvolutionKind::kForward;
    const bool data = s.kind == ConvolutionKind::kBackwardData;
    const std::vector<float> first = widened(args.first, s.dtype, forward ? xs : ys, s.tf32);
    const std::vector<float> second = widened(args.second, s.dtype, forward || data ? ws : xs, s.tf32);
    std::vector<float> sums(at(forward ? ys : data ? xs : ws));
    for_each_tap(s, [&](std::size_t y, std::size_t x, std::size_t w) {
        const std::size_t channels = at(s.c);
        if (forward) {
            for (std::size_t c = 0; c < channels; ++c) sums[y] += first[x + c] * second[w + c];
        } else if (data) {
            for (std::size_t c = 0; c < channels; ++c) sums[x + c] += first[y] * second[w + c];
        } else {
            for (std::size_t c = 0; c < channels; ++c) sums[w + c] += first[y] * second[x + c];
        }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) store_at(args.result, s.dtype, i, sums[i]);
}

}  // namespace mpt::gpu

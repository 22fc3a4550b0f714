#include "backends/cuda/host_twin/library_calls.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "backends/cuda/host_twin/stored_values.h"

namespace mpt::gpu {

namespace {

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

namespace {

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3).
float gelu(float x) {
    const double v = static_cast<double>(x);
    return static_cast<float>(0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))));
}

// The derivative of x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3).
float gelu_slope(float x) {
    const double v = static_cast<double>(x), root = 0.7978845608028654;
    const double t = std::tanh(root * (v + 0.044715 * v * v * v));
    return static_cast<float>(0.5 * (1 + t) + 0.5 * v * (1 - t * t) * root * (1 + 3 * 0.044715 * v * v));
}

}  // namespace

void host_product(const ProductSpec& s, const ProductArgs& args) {
    const bool fp8 = s.fp8 != Fp8::kNone;
    const DType of_a = s.fp8 == Fp8::kE5m2 ? DType::e5m2 : fp8 ? DType::e4m3 : s.input;
    const std::vector<float> a = widened(args.a, of_a, s.m * s.k, s.tf32);
    const std::vector<float> b = widened(args.b, fp8 ? DType::e4m3 : s.input, s.k * s.n, s.tf32);
    const float scale =
        (args.scale_a == nullptr ? 1.0f : *args.scale_a) * (args.scale_b == nullptr ? 1.0f : *args.scale_b);
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
            float sum = row[at(j)] * scale + (s.bias ? args.bias[j] : 0.0f);
            if (s.accumulate) sum += value_at(args.d, s.output, at(i * s.n + j));
            if (s.gelu_gradient) sum *= gelu_slope(value_at(args.x, s.output, at(i * s.n + j)));
            if (s.gelu) {
                store_at(args.aux, s.output, at(i * s.n + j), sum);
                sum = gelu(sum);
            }
            store_at(args.d, s.output, at(i * s.n + j), sum);
        }
        if (!s.bias_gradient) continue;
        double sum = 0;
        for (std::int64_t l = 0; l < s.k; ++l)
            sum += static_cast<double>(s.transposed_a ? a[at(l * s.m + i)] : a[at(i * s.k + l)]);
        args.bias_gradient[i] = static_cast<float>(sum);
    }
}

namespace {

// relu?(scale x + shift) a channel.
void apply_affine(const ConvolutionSpec& s, const ConvolutionArgs& args, std::vector<float>& x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t c = i % at(s.c);
        x[i] = x[i] * args.scale[c] + args.shift[c];
        if (s.fusion.relu && x[i] < 0) x[i] = 0;
    }
}

// Sums of `values` a channel, and of their products with each of the others.
void sum_channels(const ConvolutionArgs& args, std::size_t channels, const std::vector<float>& values,
                  const std::vector<std::vector<float>>& others) {
    std::vector<double> sums((1 + others.size()) * channels);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = static_cast<double>(values[i]);
        sums[i % channels] += value;
        for (std::size_t o = 0; o < others.size(); ++o)
            sums[(o + 1) * channels + i % channels] += value * static_cast<double>(others[o][i]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) args.sums[i] = static_cast<float>(sums[i]);
}

// What follows a data gradient: addend and mask.
void finish_data(const ConvolutionSpec& s, const ConvolutionArgs& args, std::vector<float>& grad) {
    const ConvolutionFusion& f = s.fusion;
    const auto count = static_cast<std::int64_t>(grad.size());
    if (f.add) {
        const std::vector<float> addend = widened(args.addend, s.dtype, count, false);
        for (std::size_t i = 0; i < grad.size(); ++i) grad[i] += addend[i];
    }
    if (!f.mask) return;
    std::vector<float> masked = widened(args.masked, s.dtype, count, false);
    if (f.affine) apply_affine(s, args, masked);
    for (std::size_t i = 0; i < grad.size(); ++i)
        if (masked[i] <= 0) grad[i] = 0;
}

}  // namespace

void host_convolution(const ConvolutionSpec& s, const ConvolutionArgs& args) {
    const std::int64_t xs = s.n * s.h * s.w * s.c, ws = s.k * s.r * s.s * s.c, ys = s.n * s.p * s.q * s.k;
    const bool forward = s.kind == ConvolutionKind::kForward;
    const bool data = s.kind == ConvolutionKind::kBackwardData;
    std::vector<float> first = widened(args.first, s.dtype, forward ? xs : ys, s.tf32);
    std::vector<float> second = widened(args.second, s.dtype, forward || data ? ws : xs, s.tf32);
    if (s.fusion.affine && !data) apply_affine(s, args, forward ? first : second);
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
    if (data) finish_data(s, args, sums);
    for (std::size_t i = 0; i < sums.size(); ++i) store_at(args.result, s.dtype, i, sums[i]);
    // Sums are of what was stored.
    if (!s.fusion.statistics && !s.fusion.reductions && s.fusion.references == 0) return;
    const std::vector<float> stored =
        widened(args.result, s.dtype, static_cast<std::int64_t>(sums.size()), false);
    std::vector<std::vector<float>> others;
    if (forward) others.push_back(stored);
    if (s.fusion.reductions) others.push_back(widened(args.masked, s.dtype, xs, false));
    for (int r = 0; r < s.fusion.references; ++r)
        others.push_back(widened(args.references[r], s.dtype, xs, false));
    sum_channels(args, at(forward ? s.k : s.c), stored, others);
}

namespace {

// One head of an attention, in f32.
struct HostHead {
    const AttentionSpec& s;
    const AttentionArgs& args;
    std::int64_t b, h;

    std::size_t place(std::int64_t positions, std::int64_t row, std::int64_t t, std::int64_t d) const {
        return at((b * positions + t) * row + h * s.size + d);
    }
    float q(std::int64_t t, std::int64_t d) const {
        return value_at(args.q, s.dtype, place(s.queries, s.q_row, t, d));
    }
    float k(std::int64_t j, std::int64_t d) const {
        return value_at(args.k, s.dtype, place(s.keys, s.k_row, j, d));
    }
    float v(std::int64_t j, std::int64_t d) const {
        return value_at(args.v, s.dtype, place(s.keys, s.v_row, j, d));
    }
    std::size_t place_of_o(std::int64_t t, std::int64_t d) const {
        return place(s.queries, s.heads * s.size, t, d);
    }
    float grad_o(std::int64_t t, std::int64_t d) const {
        return value_at(args.grad_o, s.dtype, place_of_o(t, d));
    }
    float& logsumexp(std::int64_t t) const { return args.logsumexp[at((b * s.heads + h) * s.queries + t)]; }
    std::int64_t num_seen(std::int64_t t) const {
        const std::int64_t seen = s.lengths ? std::min<std::int64_t>(args.key_lengths[b], s.keys) : s.keys;
        return s.causal ? std::min(seen, t + 1) : seen;
    }
    std::vector<float> scores(std::int64_t t) const {
        std::vector<float> p(at(num_seen(t)));
        for (std::size_t j = 0; j < p.size(); ++j) {
            for (std::int64_t d = 0; d < s.size; ++d) p[j] += q(t, d) * k(static_cast<std::int64_t>(j), d);
            p[j] /= std::sqrt(static_cast<float>(s.size));
        }
        return p;
    }
};

void attend(const HostHead& head, std::int64_t t) {
    const AttentionSpec& s = head.s;
    std::vector<float> p = head.scores(t);
    const float most = *std::max_element(p.begin(), p.end());
    float sum = 0;
    for (float& weight : p) sum += weight = std::exp(weight - most);
    head.logsumexp(t) = most + std::log(sum);
    for (std::int64_t d = 0; d < s.size; ++d) {
        float value = 0;
        for (std::size_t j = 0; j < p.size(); ++j) value += p[j] * head.v(static_cast<std::int64_t>(j), d);
        store_at(head.args.o, s.dtype, head.place_of_o(t, d), value / sum);
    }
}

void attend_backward(const HostHead& head) {
    const AttentionSpec& s = head.s;
    std::vector<float> grad_k(at(s.keys * s.size)), grad_v(at(s.keys * s.size)), grad_q(at(s.size));
    for (std::int64_t t = 0; t < s.queries; ++t) {
        std::vector<float> p = head.scores(t);
        float along = 0;
        for (std::int64_t d = 0; d < s.size; ++d)
            along += head.grad_o(t, d) * value_at(head.args.o, s.dtype, head.place_of_o(t, d));
        std::fill(grad_q.begin(), grad_q.end(), 0.0f);
        for (std::size_t j = 0; j < p.size(); ++j) {
            const auto key = static_cast<std::int64_t>(j);
            const float weight = std::exp(p[j] - head.logsumexp(t));
            float grad = -along;
            for (std::int64_t d = 0; d < s.size; ++d) grad += head.grad_o(t, d) * head.v(key, d);
            grad *= weight / std::sqrt(static_cast<float>(s.size));
            for (std::int64_t d = 0; d < s.size; ++d) {
                grad_q[at(d)] += grad * head.k(key, d);
                grad_k[at(key * s.size + d)] += grad * head.q(t, d);
                grad_v[at(key * s.size + d)] += weight * head.grad_o(t, d);
            }
        }
        for (std::int64_t d = 0; d < s.size; ++d)
            store_at(head.args.grad_q, s.dtype, head.place(s.queries, s.q_row, t, d), grad_q[at(d)]);
    }
    for (std::int64_t j = 0; j < s.keys; ++j)
        for (std::int64_t d = 0; d < s.size; ++d) {
            store_at(head.args.grad_k, s.dtype, head.place(s.keys, s.k_row, j, d),
                     grad_k[at(j * s.size + d)]);
            store_at(head.args.grad_v, s.dtype, head.place(s.keys, s.v_row, j, d),
                     grad_v[at(j * s.size + d)]);
        }
}

}  // namespace

void host_attention(const AttentionSpec& s, const AttentionArgs& args) {
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.heads; ++h) {
            const HostHead head{s, args, b, h};
            if (s.backward) {
                attend_backward(head);
                continue;
            }
            for (std::int64_t t = 0; t < s.queries; ++t) attend(head, t);
        }
}

}  // namespace mpt::gpu

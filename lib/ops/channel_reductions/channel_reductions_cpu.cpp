#include <algorithm>

#include "ops/channel_reductions/channel_reductions.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

namespace in = relu_backward_reductions_input;

constexpr std::int64_t kBlock = 32;  // pixels summed in f32 before they join the f64 sums
constexpr int kVectors = 4;          // vectors of channels walked together: whole cache lines of f32

std::int64_t thread_stride(std::int64_t rows, std::int64_t channels) {
    return (rows * channels + 7) / 8 * 8;  // doubles: threads keep off each other's cache lines
}

// What one element adds to each row.
template <std::size_t kRows>
struct Terms {
    __m256 row[kRows];
};

// What is summed: `pixels` times `channels` terms in each row, into sums[rows, channels].
struct Reduction {
    std::int64_t pixels = 0, channels = 0;
    int num_threads = 1;
    double* workspace = nullptr;  // thread_stride(...) * num_threads
    float* sums = nullptr;
};

// Adds the terms of pixels [begin, end) of `vectors` vectors of channels from c on.
template <std::size_t kRows, int vectors, typename Lanes, typename F>
void add_columns(const Reduction& r, cpu::Range range, std::int64_t c, Lanes lanes, double* totals,
                 const F& terms) {
    __m256 sum[vectors][kRows];
    for (auto& vector : sum)
        for (__m256& row : vector) row = _mm256_setzero_ps();
    for (std::int64_t p = range.begin; p < range.end; ++p)
        for (int v = 0; v < vectors; ++v) {
            const std::int64_t channel = c + v * simd::kLanes;
            const Terms<kRows> term = terms(p * r.channels + channel, channel, lanes);
            for (std::size_t row = 0; row < kRows; ++row)
                sum[v][row] = _mm256_add_ps(sum[v][row], term.row[row]);
        }
    for (int v = 0; v < vectors; ++v)
        for (std::size_t row = 0; row < kRows; ++row)
            simd::add_to(totals + static_cast<std::int64_t>(row) * r.channels + c + v * simd::kLanes,
                         sum[v][row], lanes);
}

// sums[row, c] = sum over pixels of terms(i, c, lanes)[row], i = pixel * channels + c. Fixed ranges a thread,
// added in thread order.
template <std::size_t kRows, typename F>
void reduce(const Reduction& r, const F& terms) {
    const std::int64_t stride = thread_stride(kRows, r.channels);
    std::fill_n(r.workspace, stride * r.num_threads, 0.0);
    cpu::parallel_for(r.pixels, kBlock, r.num_threads, [&](cpu::Range range, int thread) {
        double* totals = r.workspace + stride * thread;
        for (std::int64_t begin = range.begin; begin < range.end; begin += kBlock) {
            const cpu::Range block{begin, std::min(range.end, begin + kBlock)};
            std::int64_t c = 0;
            for (; c + kVectors * simd::kLanes <= r.channels; c += kVectors * simd::kLanes)
                add_columns<kRows, kVectors>(r, block, c, simd::Full{}, totals, terms);
            simd::for_lanes(c, r.channels, [&](std::int64_t at, auto lanes) {
                add_columns<kRows, 1>(r, block, at, lanes, totals, terms);
            });
        }
    });
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(kRows) * r.channels; ++i) {
        double total = 0;
        for (int t = 0; t < r.num_threads; ++t) total += r.workspace[stride * t + i];
        r.sums[i] = static_cast<float>(total);
    }
}

Reduction reduction_of(const Signature& s, const KernelArgs& a, float* sums) {
    const Shape& shape = s.in(0).shape;
    return {shape.num_elements() / shape[-1], shape[-1], s.num_threads, static_cast<double*>(a.workspace),
            sums};
}

void run_statistics(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = a.in<T>(0);
        reduce<2>(reduction_of(s, a, a.out<float>(0)), [=](std::int64_t i, std::int64_t, auto lanes) {
            const __m256 value = simd::load(x + i, lanes);
            return Terms<2>{{value, _mm256_mul_ps(value, value)}};
        });
    });
}

void run_reductions(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* g = a.in<T>(0);
        const T* ref1 = a.in<T>(1);
        const Reduction reduction = reduction_of(s, a, a.out<float>(0));
        if (s.attributes.as<ChannelReductionsAttributes>().num_references == 1) {
            reduce<2>(reduction, [=](std::int64_t i, std::int64_t, auto lanes) {
                const __m256 value = simd::load(g + i, lanes);
                return Terms<2>{{value, _mm256_mul_ps(value, simd::load(ref1 + i, lanes))}};
            });
            return;
        }
        const T* ref2 = a.in<T>(2);
        reduce<3>(reduction, [=](std::int64_t i, std::int64_t, auto lanes) {
            const __m256 value = simd::load(g + i, lanes);
            return Terms<3>{{value, _mm256_mul_ps(value, simd::load(ref1 + i, lanes)),
                             _mm256_mul_ps(value, simd::load(ref2 + i, lanes))}};
        });
    });
}

// A masked gradient needs no rounding: each value is g's own or 0.
template <typename T, bool kAffine, std::size_t kRows>
void mask_and_reduce(const Signature& s, const KernelArgs& a) {
    const T* g = a.in<T>(in::kG);
    const T* x = a.in<T>(in::kX);
    const float* scale = a.in<float>(in::kScale);
    const float* shift = a.in<float>(in::kShift);
    const T* ref1 = a.in<T>(in::kRef1);
    const T* ref2 = a.in<T>(in::kRef2);
    T* grad = a.out<T>(0);
    reduce<kRows>(reduction_of(s, a, a.out<float>(1)), [=](std::int64_t i, std::int64_t c, auto lanes) {
        __m256 activation = simd::load(x + i, lanes);
        if constexpr (kAffine)
            activation =
                _mm256_fmadd_ps(activation, simd::load(scale + c, lanes), simd::load(shift + c, lanes));
        const __m256 positive = _mm256_cmp_ps(activation, _mm256_setzero_ps(), _CMP_GT_OQ);
        const __m256 value = _mm256_and_ps(simd::load(g + i, lanes), positive);
        simd::store(grad + i, value, lanes);
        Terms<kRows> terms;
        terms.row[0] = value;
        terms.row[1] = _mm256_mul_ps(value, simd::load(ref1 + i, lanes));
        if constexpr (kRows == 3) terms.row[2] = _mm256_mul_ps(value, simd::load(ref2 + i, lanes));
        return terms;
    });
}

void run_relu(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<ReluBackwardReductionsAttributes>();
    const bool two = attributes.num_references == 2;
    simd::with_storage(s.in(in::kG).dtype, [&]<typename T>(T) {
        if (attributes.affine)
            two ? mask_and_reduce<T, true, 3>(s, a) : mask_and_reduce<T, true, 2>(s, a);
        else
            two ? mask_and_reduce<T, false, 3>(s, a) : mask_and_reduce<T, false, 2>(s, a);
    });
}

void run_combine(const Signature& s, const KernelArgs& k) {
    const std::int64_t channels = s.in(0).shape[-1], pixels = s.in(0).shape.num_elements() / channels;
    const float* a = k.in<float>(2);
    const float* b = k.in<float>(3);
    const float* c = k.in<float>(4);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* g = k.in<T>(0);
        const T* x = k.in<T>(1);
        T* grad_x = k.out<T>(0);
        cpu::parallel_for(pixels, kBlock, s.num_threads, [=](cpu::Range range, int) {
            for (std::int64_t p = range.begin; p < range.end; ++p)
                simd::for_lanes(0, channels, [&](std::int64_t channel, auto lanes) {
                    const std::int64_t i = p * channels + channel;
                    const __m256 rest =
                        _mm256_fmadd_ps(simd::load(x + i, lanes), simd::load(b + channel, lanes),
                                        simd::load(c + channel, lanes));
                    simd::store(
                        grad_x + i,
                        _mm256_fmadd_ps(simd::load(g + i, lanes), simd::load(a + channel, lanes), rest),
                        lanes);
                });
        });
    });
}

std::string refuse_reductions(const Signature& s) {
    const bool two = s.attributes.as<ChannelReductionsAttributes>().num_references == 2;
    return two ? simd::refusal_unless_same<1, 2>(s) : simd::refusal_unless_same<1>(s);
}
std::string refuse_relu(const Signature& s) {
    const bool two = s.attributes.as<ReluBackwardReductionsAttributes>().num_references == 2;
    return two ? simd::refusal_unless_same<in::kX, in::kRef1, in::kRef2>(s)
               : simd::refusal_unless_same<in::kX, in::kRef1>(s);
}

// A kernel whose threads sum into a workspace; the sums are output `kSums`.
template <simd::Body body, int kSums>
Kernel summing_kernel(const OpType& op, std::string (*refuses)(const Signature&)) {
    return {op.name, "simd", refuses, [](const Signature& s) {
                const Shape& sums = s.out(kSums).shape;
                const auto doubles =
                    static_cast<std::size_t>(thread_stride(sums[0], sums[1]) * s.num_threads);
                return PreparedKernel{[s](const KernelArgs& args) { body(s, args); },
                                      doubles * sizeof(double), "avx2"};
            }};
}

}  // namespace

void register_channel_reductions_cpu(KernelTable& table) {
    table.add(summing_kernel<run_statistics, 0>(channel_statistics_op, simd::refusal));
    table.add(summing_kernel<run_reductions, 0>(channel_reductions_op, refuse_reductions));
    table.add(summing_kernel<run_relu, 1>(relu_backward_reductions_op, refuse_relu));
    table.add(simd::kernel<run_combine>(channel_combine_op, simd::refusal_unless_same<1>));
}

}  // namespace mpt

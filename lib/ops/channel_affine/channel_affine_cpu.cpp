#include <algorithm>
#include <limits>

#include "ops/channel_affine/channel_affine.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

namespace in = affine_add_relu_input;

// Lower bound of a result; max(bound, NaN) is NaN, as the second operand wins.
__m256 lower_bound(bool relu) {
    return _mm256_set1_ps(relu ? 0.0f : -std::numeric_limits<float>::infinity());
}

// body(i, c, lanes) over all elements on all threads, i = pixel * channels + c.
template <typename Body>
void for_pixels(const Shape& shape, int num_threads, const Body& body) {
    const std::int64_t channels = shape[-1], pixels = shape.num_elements() / channels;
    const std::int64_t grain = std::max<std::int64_t>(1, simd::kGrain / channels);
    cpu::parallel_for(pixels, grain, num_threads, [&](cpu::Range range, int) {
        for (std::int64_t p = range.begin; p < range.end; ++p)
            simd::for_lanes(0, channels,
                            [&](std::int64_t c, auto lanes) { body(p * channels + c, c, lanes); });
    });
}

void run_affine(const Signature& s, const KernelArgs& a) {
    const __m256 bound = lower_bound(s.attributes.as<ChannelAffineAttributes>().relu);
    const float* scale = a.in<float>(1);
    const float* shift = a.in<float>(2);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = a.in<T>(0);
        T* y = a.out<T>(0);
        for_pixels(s.in(0).shape, s.num_threads, [=](std::int64_t i, std::int64_t c, auto lanes) {
            const __m256 value = _mm256_fmadd_ps(simd::load(x + i, lanes), simd::load(scale + c, lanes),
                                                 simd::load(shift + c, lanes));
            simd::store(y + i, _mm256_max_ps(bound, value), lanes);
        });
    });
}

template <typename T, bool kSecondAffine>
void add_all(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<AffineAddReluAttributes>();
    const __m256 bound = lower_bound(attributes.relu), second_bound = lower_bound(attributes.second_relu);
    const T* x1 = a.in<T>(in::kX1);
    const T* x2 = a.in<T>(in::kX2);
    const float* scale1 = a.in<float>(in::kScale1);
    const float* shift1 = a.in<float>(in::kShift1);
    const float* scale2 = a.in<float>(in::kScale2);
    const float* shift2 = a.in<float>(in::kShift2);
    T* z = a.out<T>(0);
    for_pixels(s.in(in::kX1).shape, s.num_threads, [=](std::int64_t i, std::int64_t c, auto lanes) {
        const __m256 first = _mm256_fmadd_ps(simd::load(x1 + i, lanes), simd::load(scale1 + c, lanes),
                                             simd::load(shift1 + c, lanes));
        __m256 second = simd::load(x2 + i, lanes);
        if constexpr (kSecondAffine)
            second = _mm256_max_ps(second_bound, _mm256_fmadd_ps(second, simd::load(scale2 + c, lanes),
                                                                 simd::load(shift2 + c, lanes)));
        simd::store(z + i, _mm256_max_ps(bound, _mm256_add_ps(first, second)), lanes);
    });
}

void run_add(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(in::kX1).dtype, [&]<typename T>(T) {
        if (s.has(in::kScale2))
            add_all<T, true>(s, a);
        else
            add_all<T, false>(s, a);
    });
}

}  // namespace

void register_channel_affine_cpu(KernelTable& table) {
    table.add(simd::kernel<run_affine>(channel_affine_op));
    table.add(simd::kernel<run_add>(affine_add_relu_op, simd::refusal_unless_same<in::kX2>));
}

}  // namespace mpt

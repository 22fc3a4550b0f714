#include "ops/gelu/gelu.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// The share of x that passes and its derivative: y = x share, dy/dx = share + x slope.
struct Gate {
    __m256 share, slope;
};

__m256 constant(float value) {
    return _mm256_set1_ps(value);
}

// Phi(-|x|) = t P(t) exp(-x^2 / 2) / 2 with t = 1 / (1 + 0.3 |x| / sqrt(2)). P is a least-maximum fit to
// exp(z^2) erfc(z) / t, z = |x| / sqrt(2), made for this file: its relative error is under 4e-8.
Gate exact_gate(__m256 x) {
    const __m256 magnitude = _mm256_andnot_ps(constant(-0.0f), x);
    const __m256 t =
        _mm256_div_ps(constant(1), _mm256_fmadd_ps(constant(0.212132034f), magnitude, constant(1)));
    __m256 p = constant(-0.1266170932782797f);
    for (const float coefficient :
         {0.47182848437904834f, -0.4846959475197442f, 0.5170530040880632f, -0.07405165573436422f,
          0.20638609117806675f, 0.15046865829769543f, 0.17042374496521506f, 0.16920475194602827f})
        p = _mm256_fmadd_ps(p, t, constant(coefficient));
    const __m256 bell = simd::exp(_mm256_mul_ps(_mm256_mul_ps(x, x), constant(-0.5f)));
    const __m256 tail = _mm256_mul_ps(_mm256_mul_ps(constant(0.5f), bell), _mm256_mul_ps(t, p));
    const __m256 positive = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ);
    return {_mm256_blendv_ps(tail, _mm256_sub_ps(constant(1), tail), positive),
            _mm256_mul_ps(bell, constant(0.398942280f))};
}

// (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)), of |u| so that both it and its distance from 1 keep their digits.
// Far out the share is 0 or 1, and x^3 must not overflow.
Gate tanh_gate(__m256 value) {
    const __m256 x = _mm256_max_ps(constant(-30), _mm256_min_ps(constant(30), value));  // NaN stays
    constexpr float kSlope = 1.595769122f;                                              // 2 sqrt(2 / pi)
    const __m256 square = _mm256_mul_ps(x, x);
    const __m256 u =
        _mm256_mul_ps(x, _mm256_fmadd_ps(square, constant(kSlope * 0.044715f), constant(kSlope)));
    const __m256 e = simd::exp(_mm256_or_ps(u, constant(-0.0f)));
    const __m256 greater = _mm256_div_ps(constant(1), _mm256_add_ps(constant(1), e));
    const __m256 lesser = _mm256_mul_ps(e, greater);
    const __m256 du = _mm256_fmadd_ps(square, constant(3 * kSlope * 0.044715f), constant(kSlope));
    return {_mm256_blendv_ps(greater, lesser, u), _mm256_mul_ps(du, _mm256_mul_ps(greater, lesser))};
}

template <GeluForm form>
Gate gate(__m256 x) {
    return form == GeluForm::kExact ? exact_gate(x) : tanh_gate(x);
}

template <GeluForm form, typename T>
void forward(const T* x, T* y, std::int64_t count, int num_threads) {
    simd::for_elements(count, num_threads, [=](std::int64_t i, auto lanes) {
        const __m256 value = simd::load(x + i, lanes);
        simd::store(y + i, _mm256_mul_ps(value, gate<form>(value).share), lanes);
    });
}

template <GeluForm form, typename T>
void backward(const T* grad_y, const T* x, T* grad_x, std::int64_t count, int num_threads) {
    simd::for_elements(count, num_threads, [=](std::int64_t i, auto lanes) {
        const __m256 value = simd::load(x + i, lanes);
        const Gate g = gate<form>(value);
        const __m256 slope = _mm256_fmadd_ps(value, g.slope, g.share);
        simd::store(grad_x + i, _mm256_mul_ps(simd::load(grad_y + i, lanes), slope), lanes);
    });
}

// body(form) with the form as a constant.
template <typename Body>
void with_form(const Signature& s, const Body& body) {
    if (s.attributes.as<GeluAttributes>().form == GeluForm::kExact)
        body(std::integral_constant<GeluForm, GeluForm::kExact>{});
    else
        body(std::integral_constant<GeluForm, GeluForm::kTanh>{});
}

void run_gelu(const Signature& s, const KernelArgs& a) {
    const std::int64_t count = s.in(0).shape.num_elements();
    with_form(s, [&](auto form) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
            forward<form()>(simd::input<T>(a, 0), simd::output<T>(a, 0), count, s.num_threads);
        });
    });
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t count = s.in(0).shape.num_elements();
    with_form(s, [&](auto form) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
            backward<form()>(simd::input<T>(a, 0), simd::input<T>(a, 1), simd::output<T>(a, 0), count,
                             s.num_threads);
        });
    });
}

}  // namespace

void register_gelu_cpu(KernelTable& table) {
    table.add(simd::kernel<run_gelu>(gelu_op));
    table.add(simd::kernel<run_backward>(gelu_backward_op, simd::refusal_unless_same<1>));
}

}  // namespace mpt

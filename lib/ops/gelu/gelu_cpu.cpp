#include "backends/cpu/activations.h"
#include "ops/gelu/gelu.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

template <Pointwise form, typename T>
void forward(const T* x, T* y, std::int64_t count, int num_threads) {
    simd::for_elements(count, num_threads, [=](std::int64_t i, auto lanes) {
        simd::store(y + i, simd::activate<form>(simd::load(x + i, lanes)), lanes);
    });
}

template <Pointwise form, typename T>
void backward(const T* grad_y, const T* x, T* grad_x, std::int64_t count, int num_threads) {
    simd::for_elements(count, num_threads, [=](std::int64_t i, auto lanes) {
        simd::store(grad_x + i, simd::through<form>(simd::load(grad_y + i, lanes), simd::load(x + i, lanes)),
                    lanes);
    });
}

// body(form) with the form as a constant.
template <typename Body>
void with_form(const Signature& s, const Body& body) {
    if (s.attributes.as<GeluAttributes>().form == GeluForm::kExact)
        body(std::integral_constant<Pointwise, Pointwise::kGeluExact>{});
    else
        body(std::integral_constant<Pointwise, Pointwise::kGeluTanh>{});
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

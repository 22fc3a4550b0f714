#include "backends/cuda/column_sums.h"
#include "ops/add_rows/add_rows.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

template <typename T>
struct AddRow {
    const T* table;
    std::int64_t part;  // elements of one sample
    MPT_DEVICE float operator()(std::int64_t i, float x) const { return x + gpu::widen(table[i % part]); }
};

void run_add_rows(const gpu::Call& s, const KernelArgs& a) {
    const Shape& x = s.in(0).shape;
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), AddRow<T>{a.in<T>(1), x[1] * x[2]}, a.out<T>(0), a.in<T>(0));
    });
}

void run_add_rows_backward(const gpu::Call& s, const KernelArgs& a) {
    const Shape& grad = s.in(0).shape;
    const std::int64_t part = grad[1] * grad[2];
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::column_sums(*s.device, grad[0], part, gpu::PlainSum{}, gpu::StoreSums<1>{{a.out<float>(0)}},
                         a.workspace, static_cast<float*>(nullptr), a.in<T>(0));
    });
    s.device->fill_zero(a.out<float>(0) + part,
                        static_cast<std::size_t>(gpu::elements_of(s) - part) * sizeof(float));
}

std::size_t sums_bytes(const gpu::Call& s) {
    return gpu::column_sums_bytes(*s.device, s.in(0).shape[0], s.in(0).shape[1] * s.in(0).shape[2], 1);
}

}  // namespace

MPT_REGISTER_CUDA(add_rows)(KernelTable& table) {
    table.add(gpu::kernel<run_add_rows>(add_rows_op, gpu::refusal_unless_same<0, 1>));
    table.add(gpu::kernel<run_add_rows_backward, sums_bytes>(add_rows_backward_op));
}

}  // namespace mpt

#include "backends/cuda/column_sums.h"
#include "ops/add_rows/add_rows.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

constexpr int kThreads = 256;

// `part`: elements of one sample, which the table holds.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void add_rows_kernel(std::int64_t elements, std::int64_t part, const T* x, const T* table, T* y) {
    for (std::int64_t i = (gpu::block_index() * kThreads + gpu::thread_index()) * pack; i < elements;
         i += gpu::num_blocks() * kThreads * pack) {
        float v[pack], row[pack];
        gpu::load<pack>(x + i, v);
        gpu::load<pack>(table + i % part, row);
        MPT_UNROLL
        for (int k = 0; k < pack; ++k) v[k] += row[k];
        gpu::store<pack>(y + i, v);
    }
}

void run_add_rows(const gpu::Call& s, const KernelArgs& a) {
    const Shape& x = s.in(0).shape;
    const std::int64_t elements = gpu::elements_of(s), part = x[1] * x[2];
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(part, [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device,
                        {.blocks = gpu::blocks_for(*s.device, elements / pack, kThreads),
                         .threads = kThreads,
                         .threads_meet = false},
                        add_rows_kernel<pack, T>, elements, part, a.in<T>(0), a.in<T>(1), a.out<T>(0));
        });
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

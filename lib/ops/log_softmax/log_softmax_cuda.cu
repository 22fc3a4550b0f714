#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/log_softmax/log_softmax.h"

namespace mpt {

namespace {

template <int lanes, int pack, typename T>
MPT_KERNEL(gpu::kRowThreads)
void forward_kernel(std::int64_t rows, std::int64_t classes, const T* z, T* logp) {
    const gpu::RowGroup<lanes> group;
    if (lanes == gpu::kLanes && group.row >= rows) return;
    const std::int64_t first = group.row * classes;
    float most = -INFINITY;
    group.template for_packs<pack>(classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + first + i, v);
        for (int k = 0; k < pack; ++k) most = v[k] > most || v[k] != v[k] ? v[k] : most;
    });
    most = group.greatest(most);
    float sum = 0;
    group.template for_packs<pack>(classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + first + i, v);
        for (int k = 0; k < pack; ++k) sum += std::exp(v[k] - most);
    });
    const float log_sum = std::log(group.sum(sum));
    group.template for_packs<pack>(classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + first + i, v);
        for (int k = 0; k < pack; ++k) v[k] = v[k] - most - log_sum;
        gpu::store<pack>(logp + first + i, v);
    });
}

template <int lanes, int pack, typename T>
MPT_KERNEL(gpu::kRowThreads)
void backward_kernel(std::int64_t rows, std::int64_t classes, const T* grad, const T* logp, T* grad_z) {
    const gpu::RowGroup<lanes> group;
    if (lanes == gpu::kLanes && group.row >= rows) return;
    const std::int64_t first = group.row * classes;
    float sum = 0;
    group.template for_packs<pack>(classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(grad + first + i, v);
        for (int k = 0; k < pack; ++k) sum += v[k];
    });
    sum = group.sum(sum);
    group.template for_packs<pack>(classes, [&](std::int64_t i) {
        float g[pack], p[pack];
        gpu::load<pack>(grad + first + i, g);
        gpu::load<pack>(logp + first + i, p);
        for (int k = 0; k < pack; ++k) g[k] -= std::exp(p[k]) * sum;
        gpu::store<pack>(grad_z + first + i, g);
    });
}

void run_forward(const Signature& s, const KernelArgs& a) {
    const std::int64_t rows = s.in(0).shape[0], classes = s.in(0).shape[1];
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<gpu::kPerPack<T>>(
            classes, [&]<int lanes, int pack>(std::integral_constant<int, lanes>, std::integral_constant<int, pack>) {
                gpu::launch(*s.device, gpu::row_launch<lanes>(rows), forward_kernel<lanes, pack, T>, rows, classes,
                            a.in<T>(0), a.out<T>(0));
            });
    });
}

void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t rows = s.in(0).shape[0], classes = s.in(0).shape[1];
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<gpu::kPerPack<T>>(
            classes, [&]<int lanes, int pack>(std::integral_constant<int, lanes>, std::integral_constant<int, pack>) {
                gpu::launch(*s.device, gpu::row_launch<lanes>(rows), backward_kernel<lanes, pack, T>, rows, classes,
                            a.in<T>(0), a.in<T>(1), a.out<T>(0));
            });
    });
}

}  // namespace

MPT_REGISTER_CUDA(log_softmax)(KernelTable& table) {
    table.add(gpu::kernel<run_forward>(log_softmax_op));
    table.add(gpu::kernel<run_backward>(log_softmax_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt

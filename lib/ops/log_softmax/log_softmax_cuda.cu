#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/log_softmax/log_softmax.h"

namespace mpt {

namespace {

template <int lanes, int pack, typename T>
MPT_KERNEL(gpu::kRowThreads)
void forward_kernel(std::int64_t rows, std::int64_t columns, std::int64_t classes, const T* z, T* logp) {
    const gpu::RowGroup<lanes> group;
    if (lanes == gpu::kLanes && group.row >= rows) return;
    const std::int64_t first = group.row * columns;
    float most = -INFINITY;
    group.template for_packs<pack>(columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + first + i, v);
        for (int k = 0; k < pack; ++k)
            if (i + k < classes) most = v[k] > most || v[k] != v[k] ? v[k] : most;
    });
    most = group.greatest(most);
    float sum = 0;
    group.template for_packs<pack>(columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + first + i, v);
        for (int k = 0; k < pack; ++k) sum += i + k < classes ? std::exp(v[k] - most) : 0.0f;
    });
    const float log_sum = std::log(group.sum(sum));
    group.template for_packs<pack>(columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + first + i, v);
        for (int k = 0; k < pack; ++k)
            v[k] = i + k < classes ? v[k] - most - log_sum : static_cast<float>(kNoLogProbability);
        gpu::store<pack>(logp + first + i, v);
    });
}

template <int lanes, int pack, typename T>
MPT_KERNEL(gpu::kRowThreads)
void backward_kernel(std::int64_t rows, std::int64_t columns, std::int64_t classes, const T* grad,
                     const T* logp, T* grad_z) {
    const gpu::RowGroup<lanes> group;
    if (lanes == gpu::kLanes && group.row >= rows) return;
    const std::int64_t first = group.row * columns;
    float sum = 0;
    group.template for_packs<pack>(columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(grad + first + i, v);
        for (int k = 0; k < pack; ++k) sum += i + k < classes ? v[k] : 0.0f;
    });
    sum = group.sum(sum);
    group.template for_packs<pack>(columns, [&](std::int64_t i) {
        float g[pack], p[pack];
        gpu::load<pack>(grad + first + i, g);
        gpu::load<pack>(logp + first + i, p);
        for (int k = 0; k < pack; ++k) g[k] = i + k < classes ? g[k] - std::exp(p[k]) * sum : 0.0f;
        gpu::store<pack>(grad_z + first + i, g);
    });
}

void run_forward(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t rows = s.in(0).shape[0], columns = s.in(0).shape[1];
    const std::int64_t classes = num_classes(s.attributes.as<LogSoftmaxAttributes>().vocabulary, columns);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<gpu::kPerPack<T>>(
            columns,
            [&]<int lanes, int pack>(std::integral_constant<int, lanes>, std::integral_constant<int, pack>) {
                gpu::launch(*s.device, gpu::row_launch<lanes>(rows), forward_kernel<lanes, pack, T>, rows,
                            columns, classes, a.in<T>(0), a.out<T>(0));
            });
    });
}

void run_backward(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t rows = s.in(0).shape[0], columns = s.in(0).shape[1];
    const std::int64_t classes = num_classes(s.attributes.as<LogSoftmaxAttributes>().vocabulary, columns);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<gpu::kPerPack<T>>(
            columns,
            [&]<int lanes, int pack>(std::integral_constant<int, lanes>, std::integral_constant<int, pack>) {
                gpu::launch(*s.device, gpu::row_launch<lanes>(rows), backward_kernel<lanes, pack, T>, rows,
                            columns, classes, a.in<T>(0), a.in<T>(1), a.out<T>(0));
            });
    });
}

}  // namespace

MPT_REGISTER_CUDA(log_softmax)(KernelTable& table) {
    table.add(gpu::kernel<run_forward>(log_softmax_op));
    table.add(gpu::kernel<run_backward>(log_softmax_backward_op, gpu::refusal_unless_same<0, 1>));
}

}  // namespace mpt

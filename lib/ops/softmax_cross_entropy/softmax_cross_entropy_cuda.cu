#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace mpt {

namespace {

struct Labels {
    LossTargets targets;
    std::int64_t rows, columns, classes;  // columns from `classes` on only pad the rows
    std::int32_t ignored;
    float smoothing;
};

// The loss of a row; a label outside the classes gives NaN, which the finite check tells.
template <int lanes, int pack, typename T>
MPT_KERNEL(gpu::kRowThreads)
void forward_kernel(Labels l, const T* z, float* logsumexp, float* losses) {
    const gpu::RowGroup<lanes> group;
    if (lanes == gpu::kLanes && group.row >= l.rows) return;
    const T* row = z + group.row * l.columns;
    float most = -INFINITY, total = 0;
    group.template for_packs<pack>(l.columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(row + i, v);
        for (int k = 0; k < pack; ++k) {
            if (i + k >= l.classes) continue;
            most = v[k] > most || v[k] != v[k] ? v[k] : most;
            total += v[k];
        }
    });
    most = group.greatest(most);
    float sum = 0;
    group.template for_packs<pack>(l.columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(row + i, v);
        for (int k = 0; k < pack; ++k) sum += i + k < l.classes ? std::exp(v[k] - most) : 0.0f;
    });
    const float log_sum = std::log(group.sum(sum));
    total = group.sum(total);
    if (group.lane != 0) return;
    logsumexp[group.row] = most + log_sum;
    const LossTarget<float> target = l.targets.at(group.row);
    float loss = 0;
    if (target.label != l.ignored) {
        const float own_below =
            target.is_known(l.classes)
                ? target.mean(gpu::widen(row[target.label]) - most, gpu::widen(row[target.second]) - most)
                : NAN;
        const float mean_below = total / static_cast<float>(l.classes) - most;
        loss = log_sum - (1 - l.smoothing) * own_below - (l.smoothing != 0 ? l.smoothing * mean_below : 0.0f);
    }
    losses[group.row] = loss;
}

template <int lanes, int pack, typename T>
MPT_KERNEL(gpu::kRowThreads)
void backward_kernel(Labels l, const float* seed, const T* z, const float* logsumexp, T* grad_z) {
    const gpu::RowGroup<lanes> group;
    if (group.row >= l.rows) return;
    const LossTarget<float> target = l.targets.at(group.row);
    const float shift = logsumexp[group.row];
    const float factor = *seed;
    const float rest = l.smoothing / static_cast<float>(l.classes);
    group.template for_packs<pack>(l.columns, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + group.row * l.columns + i, v);
        for (int k = 0; k < pack; ++k) {
            const float wanted = (1 - l.smoothing) * target.of(i + k) + rest;
            const bool none = i + k >= l.classes || target.label == l.ignored;
            v[k] = none ? 0.0f : factor * (std::exp(v[k] - shift) - wanted);
        }
        gpu::store<pack>(grad_z + group.row * l.columns + i, v);
    });
}

Labels labels_of(const gpu::Call& s, const KernelArgs& a, int logits, int labels, int second) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    return {loss_targets(s, a, labels, second),
            s.in(logits).shape[0],
            s.in(logits).shape[1],
            num_classes(attributes.vocabulary, s.in(logits).shape[1]),
            static_cast<std::int32_t>(attributes.ignore_index),
            static_cast<float>(attributes.label_smoothing)};
}

void run_forward(const gpu::Call& s, const KernelArgs& a) {
    const Labels l = labels_of(s, a, 0, 1, 2);
    auto* losses = static_cast<float*>(a.workspace);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<gpu::kPerPack<T>>(
            l.columns,
            [&]<int lanes, int pack>(std::integral_constant<int, lanes>, std::integral_constant<int, pack>) {
                gpu::launch(*s.device, gpu::row_launch<lanes>(l.rows), forward_kernel<lanes, pack, T>, l,
                            a.in<T>(0), a.out<float>(1), losses);
            });
    });
    gpu::launch(*s.device, {.threads = gpu::kRowThreads}, gpu::total_kernel<gpu::StoreTotal>,
                gpu::StoreTotal{a.out<float>(0)}, l.rows, losses);
}

void run_backward(const gpu::Call& s, const KernelArgs& a) {
    const Labels l = labels_of(s, a, 1, 2, 4);
    gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<gpu::kPerPack<T>>(
            l.columns,
            [&]<int lanes, int pack>(std::integral_constant<int, lanes>, std::integral_constant<int, pack>) {
                gpu::Launch shape = gpu::row_launch<lanes>(l.rows);
                shape.threads_meet = false;
                gpu::launch(*s.device, shape, backward_kernel<lanes, pack, T>, l, a.in<float>(0), a.in<T>(1),
                            a.in<float>(3), a.out<T>(0));
            });
    });
}

std::size_t losses_bytes(const gpu::Call& s) {
    return static_cast<std::size_t>(s.in(0).shape[0]) * sizeof(float);
}

}  // namespace

MPT_REGISTER_CUDA(softmax_cross_entropy)(KernelTable& table) {
    table.add(gpu::kernel<run_forward, losses_bytes>(softmax_cross_entropy_op));
    table.add(gpu::kernel<run_backward>(softmax_cross_entropy_backward_op));
}

}  // namespace mpt

#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/nll_loss/nll_loss.h"

namespace mpt {

namespace {

template <typename T>
MPT_KERNEL(gpu::kRowThreads)
void row_kernel(std::int64_t rows, std::int64_t columns, std::int64_t classes, std::int32_t ignored,
                float smoothing, const T* logp, LossTargets targets, float* losses) {
    const gpu::RowGroup<gpu::kLanes> group;
    if (group.row >= rows) return;
    const T* row = logp + group.row * columns;
    float sum = 0;
    if (smoothing != 0)
        group.template for_packs<1>(classes, [&](std::int64_t i) { sum += gpu::widen(row[i]); });
    sum = group.sum(sum);
    if (group.lane != 0) return;
    const LossTarget<float> target = targets.at(group.row);
    const float own = target.is_known(classes)
                          ? target.mean(gpu::widen(row[target.label]), gpu::widen(row[target.second]))
                          : NAN;
    const float loss = -(1 - smoothing) * own - smoothing / static_cast<float>(classes) * sum;
    losses[group.row] = target.label == ignored ? 0.0f : loss;
}

struct Gradient {
    const float* seed;
    LossTargets targets;
    std::int64_t columns, classes;
    std::int32_t ignored;
    float smoothing;
    MPT_DEVICE float operator()(std::int64_t i) const {
        const LossTarget<float> target = targets.at(i / columns);
        const std::int64_t c = i % columns;
        const float wanted = (1 - smoothing) * target.of(c) + smoothing / static_cast<float>(classes);
        return c >= classes || target.label == ignored ? 0.0f : -*seed * wanted;
    }
};

void run_forward(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const std::int64_t rows = s.in(0).shape[0], columns = s.in(0).shape[1];
    const std::int64_t classes = num_classes(attributes.vocabulary, columns);
    auto* losses = static_cast<float*>(a.workspace);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::launch(*s.device, gpu::row_launch<gpu::kLanes>(rows), row_kernel<T>, rows, columns, classes,
                    static_cast<std::int32_t>(attributes.ignore_index),
                    static_cast<float>(attributes.label_smoothing), a.in<T>(0), loss_targets(s, a, 1, 2),
                    losses);
    });
    gpu::launch(*s.device, {.threads = gpu::kRowThreads}, gpu::total_kernel<gpu::StoreTotal>,
                gpu::StoreTotal{a.out<float>(0)}, rows, losses);
}

void run_backward(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const Gradient f{a.in<float>(0),
                     loss_targets(s, a, 2, 3),
                     s.out(0).shape[1],
                     num_classes(attributes.vocabulary, s.out(0).shape[1]),
                     static_cast<std::int32_t>(attributes.ignore_index),
                     static_cast<float>(attributes.label_smoothing)};
    gpu::with_storage(s.out(0).dtype,
                      [&]<typename T>(T) { gpu::map(*s.device, gpu::elements_of(s), f, a.out<T>(0)); });
}

std::size_t losses_bytes(const gpu::Call& s) {
    return static_cast<std::size_t>(s.in(0).shape[0]) * sizeof(float);
}

}  // namespace

MPT_REGISTER_CUDA(nll_loss)(KernelTable& table) {
    table.add(gpu::kernel<run_forward, losses_bytes>(nll_loss_op));
    table.add(gpu::kernel<run_backward>(nll_loss_backward_op));
}

}  // namespace mpt

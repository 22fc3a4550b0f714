#include "ops/adam_update/adam_update.h"
#include "ops/update_cuda.h"

namespace mpt {

namespace {

struct Adam {
    // As the CPU's: scalars are worked out in f64 and rounded once.
    struct Factors {
        float gradient, keep1, take1, keep2, take2, step, root_correction, epsilon, coupled_decay, shrink;
    };
    double beta1, beta2, epsilon, weight_decay;
    bool decoupled;

    MPT_DEVICE Factors factors(const StepControl& c, bool decayed) const {
        const double t = static_cast<double>(c.applied), decay = decayed ? weight_decay : 0.0;
        const float least = static_cast<float>(epsilon);
        return {c.gradient_factor,
                static_cast<float>(beta1),
                static_cast<float>(1 - beta1),
                static_cast<float>(beta2),
                static_cast<float>(1 - beta2),
                gpu::finite(c.learning_rate / (1 - std::pow(beta1, t))),
                static_cast<float>(std::sqrt(1 - std::pow(beta2, t))),
                least > FLT_MIN ? least : FLT_MIN,
                decoupled ? 0.0f : static_cast<float>(decay),
                decoupled ? gpu::finite(1 - c.learning_rate * decay) : 1.0f};
    }
    MPT_DEVICE void step(const Factors& f, float, float stored, float& w, float& m, float& v) const {
        const float g = gpu::finite(stored * f.gradient + f.coupled_decay * w);
        m = f.keep1 * m + f.take1 * g;
        v = gpu::finite(f.keep2 * v + f.take2 * g * g);
        const float divisor = std::sqrt(v) / f.root_correction + f.epsilon;
        w = gpu::finite(gpu::finite(w * f.shrink) - gpu::finite(f.step * m / divisor));
    }
};

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& h = s.attributes.as<AdamUpdateAttributes>();
    return gpu::prepare_update(s, kTwoMoments, Adam{h.beta1, h.beta2, h.epsilon, h.weight_decay, h.decoupled},
                               h.segments);
}

}  // namespace

MPT_REGISTER_CUDA(adam_update)(KernelTable& table) {
    table.add({adam_update_op.name, "cuda", gpu::refusal, prepare});
}

}  // namespace mpt

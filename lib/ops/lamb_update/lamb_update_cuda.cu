#include "ops/lamb_update/lamb_update.h"
#include "ops/update_cuda.h"

namespace mpt {

namespace {

struct Lamb {
    static constexpr bool kMovesMoments = true;
    struct Factors {
        float gradient, keep1, take1, keep2, take2, inverse_correction1, root_correction2, epsilon, decay, lr;
    };
    double beta1, beta2, epsilon, weight_decay;

    MPT_DEVICE Factors factors(const StepControl& c, bool decayed) const {
        const double t = static_cast<double>(c.applied);
        const float least = static_cast<float>(epsilon);
        return {c.gradient_factor,
                static_cast<float>(beta1),
                static_cast<float>(1 - beta1),
                static_cast<float>(beta2),
                static_cast<float>(1 - beta2),
                static_cast<float>(1 / (1 - std::pow(beta1, t))),
                static_cast<float>(std::sqrt(1 - std::pow(beta2, t))),
                least > FLT_MIN ? least : FLT_MIN,
                decayed ? static_cast<float>(weight_decay) : 0.0f,
                gpu::finite(c.learning_rate)};
    }
    MPT_DEVICE float direction(const Factors& f, float m, float v, float w) const {
        return gpu::finite(f.inverse_correction1 * m / (std::sqrt(v) / f.root_correction2 + f.epsilon) +
                           f.decay * w);
    }
    // Moves the moments on; the update itself finds them moved.
    MPT_DEVICE float measured(const Factors& f, float stored, float w, float& m, float& v) const {
        const float g = gpu::finite(stored * f.gradient);
        m = f.keep1 * m + f.take1 * g;
        v = gpu::finite(f.keep2 * v + f.take2 * g * g);
        return direction(f, m, v, w);
    }
    // As lamb_ratio.
    MPT_DEVICE double ratio(double master_norm, double update_norm, const StepControl&) const {
        return master_norm > 0 && update_norm > 0 ? master_norm / update_norm : 1.0;
    }
    MPT_DEVICE void step(const Factors& f, float ratio_of_segment, float, float& w, float& m,
                         float& v) const {
        w = gpu::finite(w - gpu::finite(f.lr * ratio_of_segment) * direction(f, m, v, w));
    }
};

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& h = s.attributes.as<LambUpdateAttributes>();
    return gpu::prepare_layerwise(s, kTwoMoments, Lamb{h.beta1, h.beta2, h.epsilon, h.weight_decay},
                                  h.segments);
}

}  // namespace

MPT_REGISTER_CUDA(lamb_update)(KernelTable& table) {
    table.add({lamb_update_op.name, "cuda", gpu::refusal, prepare});
}

}  // namespace mpt

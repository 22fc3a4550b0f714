#include "ops/lars_update/lars_update.h"
#include "ops/update_cuda.h"

namespace mpt {

namespace {

struct Lars {
    static constexpr bool kMovesMoments = false;
    struct Factors {
        float gradient, lr, momentum, decay;
    };
    double momentum, weight_decay, trust, epsilon;

    MPT_DEVICE Factors factors(const StepControl& c, bool decayed) const {
        return {c.gradient_factor, gpu::finite(c.learning_rate), static_cast<float>(momentum),
                decayed ? static_cast<float>(weight_decay) : 0.0f};
    }
    MPT_DEVICE float measured(const Factors&, float g, float, float&, float&) const { return g; }
    // As lars_ratio; the gradient's norm is that of the stored, scaled one.
    MPT_DEVICE double ratio(double master_norm, double gradient_norm, const StepControl& c) const {
        const double norm = gradient_norm * static_cast<double>(c.gradient_factor);
        if (!(master_norm > 0) || !(norm > 0)) return 1;
        return trust * master_norm / (norm + weight_decay * master_norm + epsilon);
    }
    MPT_DEVICE void step(const Factors& f, float ratio_of_segment, float g, float& w, float& m,
                         float&) const {
        const float d = gpu::finite(g * f.gradient + f.decay * w);
        m = gpu::finite(f.momentum * m + gpu::finite(f.lr * ratio_of_segment) * d);
        w = gpu::finite(w - m);
    }
};

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& h = s.attributes.as<LarsUpdateAttributes>();
    return gpu::prepare_layerwise(
        s, kOneMoment, Lars{h.momentum, h.weight_decay, h.trust_coefficient, h.epsilon}, h.segments);
}

}  // namespace

MPT_REGISTER_CUDA(lars_update)(KernelTable& table) {
    table.add({lars_update_op.name, "cuda", gpu::refusal, prepare});
}

}  // namespace mpt

#include "ops/sgd_update/sgd_update.h"
#include "ops/update_cuda.h"

namespace mpt {

namespace {

struct Sgd {
    struct Factors {
        float gradient, lr, momentum, decay;
    };
    double momentum, weight_decay;
    bool has_buffer, nesterov;

    MPT_DEVICE Factors factors(const StepControl& c, bool decayed) const {
        return {c.gradient_factor, gpu::finite(c.learning_rate), static_cast<float>(momentum),
                decayed ? static_cast<float>(weight_decay) : 0.0f};
    }
    MPT_DEVICE void step(const Factors& f, float, float g, float& w, float& m, float&) const {
        const float d = gpu::finite(g * f.gradient + f.decay * w);
        float move = d;
        if (has_buffer) {
            m = gpu::finite(f.momentum * m + d);
            move = nesterov ? gpu::finite(d + f.momentum * m) : m;
        }
        w = gpu::finite(w - f.lr * move);
    }
};

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& hyper = s.attributes.as<SgdUpdateAttributes>();
    return gpu::prepare_update(
        s, kOneMoment, Sgd{hyper.momentum, hyper.weight_decay, s.has(kOneMoment.moment1), hyper.nesterov},
        hyper.segments);
}

}  // namespace

MPT_REGISTER_CUDA(sgd_update)(KernelTable& table) {
    table.add({sgd_update_op.name, "cuda", gpu::refusal, prepare});
}

}  // namespace mpt

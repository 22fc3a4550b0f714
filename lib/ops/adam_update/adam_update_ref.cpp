#include <cmath>

#include "ops/adam_update/adam_update.h"
#include "ops/update_reference.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    const auto& hyper = s.attributes.as<AdamUpdateAttributes>();
    const auto args = reference::update_args(kTwoMoments, s, a);
    if (args.control.skip != 0) return;
    const double t = static_cast<double>(args.control.applied);
    const double correction1 = 1 - std::pow(hyper.beta1, t), correction2 = 1 - std::pow(hyper.beta2, t);
    const double epsilon = std::max(hyper.epsilon, static_cast<double>(FLT_MIN));
    const double lr = args.control.learning_rate;
    for (const Segment& segment : hyper.segments.all()) {
        const double decay = segment.decayed ? hyper.weight_decay : 0;
        for (std::int64_t i = segment.offset; i < segment.offset + segment.elements; ++i) {
            double w = args.master(i);
            double g = args.scaled_gradient(i);
            if (hyper.decoupled)
                w *= 1 - lr * decay;
            else
                g += decay * w;
            const double m = hyper.beta1 * args.moment1(i) + (1 - hyper.beta1) * g;
            const double v = hyper.beta2 * args.moment2(i) + (1 - hyper.beta2) * g * g;
            args.keep(args.moment1, i, m);
            args.keep(args.moment2, i, v);
            args.finish(i, w - lr * (m / correction1) / (std::sqrt(v / correction2) + epsilon));
        }
    }
}

}  // namespace

void register_adam_update_ref(KernelTable& table) {
    table.add(reference::kernel<run>(adam_update_op));
}

}  // namespace mpt

#include <cmath>

#include "ops/lamb_update/lamb_update.h"
#include "ops/update_reference.h"

namespace mpt {

namespace {

void update_segment(const LambUpdateAttributes& hyper, const reference::UpdateArgs& args,
                    const Segment& segment) {
    const double t = static_cast<double>(args.control.applied);
    const double correction1 = 1 - std::pow(hyper.beta1, t), correction2 = 1 - std::pow(hyper.beta2, t);
    const double epsilon = std::max(hyper.epsilon, static_cast<double>(FLT_MIN));
    const double decay = segment.decayed ? hyper.weight_decay : 0;
    std::vector<double> update;
    double squares_w = 0, squares_u = 0;
    for (std::int64_t i = segment.offset; i < segment.offset + segment.elements; ++i) {
        const double w = args.master(i), g = args.scaled_gradient(i);
        args.keep(args.moment1, i, hyper.beta1 * args.moment1(i) + (1 - hyper.beta1) * g);
        args.keep(args.moment2, i, hyper.beta2 * args.moment2(i) + (1 - hyper.beta2) * g * g);
        update.push_back(
            args.moment1(i) / correction1 / (std::sqrt(args.moment2(i) / correction2) + epsilon) + decay * w);
        squares_w += w * w;
        squares_u += update.back() * update.back();
    }
    const double ratio = segment.decayed ? lamb_ratio(std::sqrt(squares_w), std::sqrt(squares_u)) : 1;
    for (std::size_t k = 0; k < update.size(); ++k) {
        const std::int64_t i = segment.offset + static_cast<std::int64_t>(k);
        args.finish(i, args.master(i) - args.control.learning_rate * ratio * update[k]);
    }
}

void run(const Signature& s, const KernelArgs& a) {
    const auto& hyper = s.attributes.as<LambUpdateAttributes>();
    const auto args = reference::update_args(kTwoMoments, s, a);
    if (args.control.skip != 0) return;
    for (const Segment& segment : hyper.segments.all()) update_segment(hyper, args, segment);
}

}  // namespace

void register_lamb_update_ref(KernelTable& table) {
    table.add(reference::kernel<run>(lamb_update_op));
}

}  // namespace mpt

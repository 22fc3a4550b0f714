#include <cmath>

#include "ops/lars_update/lars_update.h"
#include "ops/update_reference.h"

namespace mpt {

namespace {

void update_segment(const LarsUpdateAttributes& hyper, const reference::UpdateArgs& args,
                    const Segment& segment) {
    const std::int64_t end = segment.offset + segment.elements;
    double ratio = 1;
    if (segment.decayed) {
        double squares_w = 0, squares_g = 0;
        for (std::int64_t i = segment.offset; i < end; ++i) {
            squares_w += args.master(i) * args.master(i);
            squares_g += args.scaled_gradient(i) * args.scaled_gradient(i);
        }
        ratio = lars_ratio(hyper, std::sqrt(squares_w), std::sqrt(squares_g));
    }
    const double decay = segment.decayed ? hyper.weight_decay : 0;
    for (std::int64_t i = segment.offset; i < end; ++i) {
        const double w = args.master(i);
        const double buffer = hyper.momentum * args.moment1(i) +
                              args.control.learning_rate * ratio * (args.scaled_gradient(i) + decay * w);
        args.keep(args.moment1, i, buffer);
        args.finish(i, w - buffer);
    }
}

void run(const Signature& s, const KernelArgs& a) {
    const auto& hyper = s.attributes.as<LarsUpdateAttributes>();
    const auto args = reference::update_args(kOneMoment, s, a);
    if (args.control.skip != 0) return;
    for (const Segment& segment : hyper.segments.all()) update_segment(hyper, args, segment);
}

}  // namespace

void register_lars_update_ref(KernelTable& table) {
    table.add(reference::kernel<run>(lars_update_op));
}

}  // namespace mpt

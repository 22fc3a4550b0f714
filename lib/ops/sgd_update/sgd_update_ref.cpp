#include "ops/sgd_update/sgd_update.h"
#include "ops/update_reference.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    const auto& hyper = s.attributes.as<SgdUpdateAttributes>();
    const auto args = reference::update_args(kOneMoment, s, a);
    if (args.control.skip != 0) return;
    for (const Segment& segment : hyper.segments.all()) {
        const double decay = segment.decayed ? hyper.weight_decay : 0;
        for (std::int64_t i = segment.offset; i < segment.offset + segment.elements; ++i) {
            const double w = args.master(i);
            const double d = args.scaled_gradient(i) + decay * w;
            double step = d;
            if (args.moment1) {
                const double buffer = hyper.momentum * args.moment1(i) + d;
                args.keep(args.moment1, i, buffer);
                step = hyper.nesterov ? d + hyper.momentum * buffer : buffer;
            }
            args.finish(i, w - args.control.learning_rate * step);
        }
    }
}

}  // namespace

void register_sgd_update_ref(KernelTable& table) {
    table.add(reference::kernel<run>(sgd_update_op));
}

}  // namespace mpt

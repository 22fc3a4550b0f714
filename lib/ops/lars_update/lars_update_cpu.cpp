#include <cmath>

#include "ops/flat_walk.h"
#include "ops/lars_update/lars_update.h"

namespace mpt {

namespace {

using flat_walk::Squares;
using flat_walk::View;

struct Factors {
    float gradient, rate, momentum, decay;
};

void update_block(const View& v, const Factors f) {
    float* __restrict w = v.master;
    float* __restrict g = v.gradient;
    float* __restrict buffer = v.moment1;
    for (std::int64_t i = 0; i < v.elements; ++i) {
        const float d = saturated(g[i] * f.gradient + f.decay * w[i]);
        g[i] = 0;
        buffer[i] = saturated(f.momentum * buffer[i] + f.rate * d);
        w[i] = saturated(w[i] - buffer[i]);
    }
}

std::vector<double> ratios_of(const LarsUpdateAttributes& hyper, const flat_walk::Regions& r,
                              const flat_walk::Blocks& blocks, Squares* of_block, int num_threads) {
    flat_walk::for_each_block(r, blocks, flat_walk::Masters::kRead, num_threads,
                              [&](const View& v, std::int64_t b) {
                                  of_block[b] = {flat_walk::squares(v.master, v.elements),
                                                 flat_walk::squares(v.gradient, v.elements)};
                              });
    const auto sums = flat_walk::by_segment(blocks, of_block, hyper.segments.size());
    std::vector<double> ratios(sums.size(), 1);
    const double factor = static_cast<double>(r.control.gradient_factor);
    for (std::size_t s = 0; s < sums.size(); ++s)
        if (hyper.segments.all()[s].decayed)
            ratios[s] = lars_ratio(hyper, std::sqrt(sums[s].master), std::sqrt(sums[s].other) * factor);
    return ratios;
}

PreparedKernel prepare(const Signature& s) {
    const auto blocks = flat_walk::blocks_of(s.attributes.as<LarsUpdateAttributes>().segments);
    const auto kernel = [s, blocks](const KernelArgs& a) {
        const auto& hyper = s.attributes.as<LarsUpdateAttributes>();
        const flat_walk::Regions r = flat_walk::regions_of(kOneMoment, s, a);
        if (r.control.skip != 0) return flat_walk::zero_gradient(r, s.num_threads);
        const auto ratios = ratios_of(hyper, r, blocks, static_cast<Squares*>(a.workspace), s.num_threads);
        flat_walk::for_each_block(
            r, blocks, flat_walk::Masters::kWrite, s.num_threads, [&](const View& view, std::int64_t) {
                const double ratio = ratios[static_cast<std::size_t>(view.block.segment)];
                update_block(view, {r.control.gradient_factor, finite_f32(r.control.learning_rate * ratio),
                                    static_cast<float>(hyper.momentum),
                                    view.block.decayed ? static_cast<float>(hyper.weight_decay) : 0});
            });
    };
    return {kernel, blocks.size() * sizeof(Squares), "avx2, f64 norms"};
}

}  // namespace

void register_lars_update_cpu(KernelTable& table) {
    table.add({lars_update_op.name, "simd", flat_walk::refusal, prepare});
}

}  // namespace mpt

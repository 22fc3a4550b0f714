#include <cmath>

#include "ops/flat_walk.h"
#include "ops/lamb_update/lamb_update.h"

namespace mpt {

namespace {

using flat_walk::Squares;
using flat_walk::View;

struct Factors {
    float gradient, keep1, take1, keep2, take2, inverse_correction1, root_correction2, epsilon, decay;
};

Factors factors_of(const LambUpdateAttributes& a, const StepControl& control, bool decayed) {
    const double t = static_cast<double>(control.applied);
    return {control.gradient_factor,
            static_cast<float>(a.beta1),
            static_cast<float>(1 - a.beta1),
            static_cast<float>(a.beta2),
            static_cast<float>(1 - a.beta2),
            static_cast<float>(1 / (1 - std::pow(a.beta1, t))),
            static_cast<float>(std::sqrt(1 - std::pow(a.beta2, t))),
            std::max(static_cast<float>(a.epsilon), FLT_MIN),
            decayed ? static_cast<float>(a.weight_decay) : 0};
}

float direction(float m, float v, float w, const Factors& f) {
    return saturated(f.inverse_correction1 * m / (std::sqrt(v) / f.root_correction2 + f.epsilon) +
                     f.decay * w);
}

// Moves the moments on and returns the sums of squares of master and update direction.
Squares move_moments(const View& view, const Factors f) {
    const float* __restrict w = view.master;
    float* __restrict grad = view.gradient;
    float* __restrict m = view.moment1;
    float* __restrict v = view.moment2;
    alignas(32) float update[flat_walk::kBlock];
    for (std::int64_t i = 0; i < view.elements; ++i) {
        const float g = saturated(grad[i] * f.gradient);
        grad[i] = 0;
        m[i] = f.keep1 * m[i] + f.take1 * g;
        v[i] = saturated(f.keep2 * v[i] + f.take2 * g * g);
        update[i] = direction(m[i], v[i], w[i], f);
    }
    return {flat_walk::squares(w, view.elements), flat_walk::squares(update, view.elements)};
}

void move_masters(const View& view, const Factors f, float rate) {
    float* __restrict w = view.master;
    const float* __restrict m = view.moment1;
    const float* __restrict v = view.moment2;
    for (std::int64_t i = 0; i < view.elements; ++i)
        w[i] = saturated(w[i] - rate * direction(m[i], v[i], w[i], f));
}

void run(const Signature& s, const flat_walk::Blocks& blocks, const KernelArgs& a) {
    const auto& hyper = s.attributes.as<LambUpdateAttributes>();
    const flat_walk::Regions r = flat_walk::regions_of(kTwoMoments, s, a);
    if (r.control.skip != 0) return flat_walk::zero_gradient(r, s.num_threads);
    const Factors decayed = factors_of(hyper, r.control, true);
    const Factors exempt = factors_of(hyper, r.control, false);
    auto* of_block = static_cast<Squares*>(a.workspace);
    flat_walk::for_each_block(r, blocks, flat_walk::Masters::kRead, s.num_threads,
                              [&](const View& view, std::int64_t b) {
                                  of_block[b] = move_moments(view, view.block.decayed ? decayed : exempt);
                              });
    const auto sums = flat_walk::by_segment(blocks, of_block, hyper.segments.size());
    flat_walk::for_each_block(
        r, blocks, flat_walk::Masters::kWrite, s.num_threads, [&](const View& view, std::int64_t) {
            const Squares& sum = sums[static_cast<std::size_t>(view.block.segment)];
            const double ratio =
                view.block.decayed ? lamb_ratio(std::sqrt(sum.master), std::sqrt(sum.other)) : 1;
            move_masters(view, view.block.decayed ? decayed : exempt,
                         finite_f32(r.control.learning_rate * ratio));
        });
}

PreparedKernel prepare(const Signature& s) {
    const auto blocks = flat_walk::blocks_of(s.attributes.as<LambUpdateAttributes>().segments);
    return {[s, blocks](const KernelArgs& a) { run(s, blocks, a); }, blocks.size() * sizeof(Squares),
            "avx2, f64 norms"};
}

}  // namespace

void register_lamb_update_cpu(KernelTable& table) {
    table.add({lamb_update_op.name, "simd", flat_walk::refusal, prepare});
}

}  // namespace mpt

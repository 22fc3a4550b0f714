#include <cmath>

#include "ops/adam_update/adam_update.h"
#include "ops/flat_walk.h"

namespace mpt {

namespace {

using flat_walk::View;

// Scalars are worked out in f64 and rounded once, as PyTorch does.
struct Factors {
    float gradient, keep1, take1, keep2, take2, step, root_correction, epsilon;
    float coupled_decay;  // weight_decay, or 0
    float shrink;         // 1 - lr * weight_decay, or 1
};

Factors factors_of(const AdamUpdateAttributes& a, const StepControl& control, bool decayed) {
    const double t = static_cast<double>(control.applied);
    const double decay = decayed ? a.weight_decay : 0;
    Factors f{};
    f.gradient = control.gradient_factor;
    f.keep1 = static_cast<float>(a.beta1);
    f.take1 = static_cast<float>(1 - a.beta1);
    f.keep2 = static_cast<float>(a.beta2);
    f.take2 = static_cast<float>(1 - a.beta2);
    f.step = finite_f32(control.learning_rate / (1 - std::pow(a.beta1, t)));
    f.root_correction = static_cast<float>(std::sqrt(1 - std::pow(a.beta2, t)));
    f.epsilon = std::max(static_cast<float>(a.epsilon), FLT_MIN);
    f.coupled_decay = a.decoupled ? 0 : static_cast<float>(decay);
    f.shrink = a.decoupled ? finite_f32(1 - control.learning_rate * decay) : 1;
    return f;
}

// Written in lanes: left to itself the compiler makes comparisons and blends of saturated(), and the update
// takes twice the time that memory needs.
template <typename Lanes>
void update_lanes(const View& view, const Factors& f, std::int64_t i, Lanes lanes) {
    const auto all = [](float x) { return _mm256_set1_ps(x); };
    const __m256 w = simd::load(view.master + i, lanes);
    const __m256 g = flat_walk::saturated(
        _mm256_fmadd_ps(simd::load(view.gradient + i, lanes), all(f.gradient), all(f.coupled_decay) * w));
    simd::store(view.gradient + i, _mm256_setzero_ps(), lanes);
    const __m256 m = _mm256_fmadd_ps(all(f.keep1), simd::load(view.moment1 + i, lanes), all(f.take1) * g);
    simd::store(view.moment1 + i, m, lanes);
    const __m256 v = flat_walk::saturated(
        _mm256_fmadd_ps(all(f.keep2), simd::load(view.moment2 + i, lanes), all(f.take2) * g * g));
    simd::store(view.moment2 + i, v, lanes);
    const __m256 divisor = _mm256_sqrt_ps(v) / all(f.root_correction) + all(f.epsilon);
    const __m256 step = flat_walk::saturated(all(f.step) * m / divisor);
    simd::store(view.master + i, flat_walk::saturated(flat_walk::saturated(w * all(f.shrink)) - step), lanes);
}

void update_block(const View& view, const Factors& f) {
    simd::for_lanes(0, view.elements, [&](std::int64_t i, auto lanes) { update_lanes(view, f, i, lanes); });
}

PreparedKernel prepare(const Signature& s) {
    const auto blocks = flat_walk::blocks_of(s.attributes.as<AdamUpdateAttributes>().segments);
    const auto kernel = [s, blocks](const KernelArgs& a) {
        const auto& hyper = s.attributes.as<AdamUpdateAttributes>();
        const flat_walk::Regions r = flat_walk::regions_of(kTwoMoments, s, a);
        if (r.control.skip != 0) return flat_walk::zero_gradient(r, s.num_threads);
        const Factors decayed = factors_of(hyper, r.control, true);
        const Factors exempt = factors_of(hyper, r.control, false);
        flat_walk::for_each_block(r, blocks, flat_walk::Masters::kWrite, s.num_threads,
                                  [&](const View& view, std::int64_t) {
                                      update_block(view, view.block.decayed ? decayed : exempt);
                                  });
    };
    return {kernel, 0, "avx2"};
}

}  // namespace

void register_adam_update_cpu(KernelTable& table) {
    table.add({adam_update_op.name, "simd", flat_walk::refusal, prepare});
}

}  // namespace mpt

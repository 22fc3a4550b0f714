#include "ops/flat_walk.h"
#include "ops/sgd_update/sgd_update.h"

namespace mpt {

namespace {

using flat_walk::View;

struct Factors {
    float gradient, lr, momentum, decay;
    bool nesterov;
};

void plain(const View& v, const Factors& f) {
    float* __restrict w = v.master;
    float* __restrict g = v.gradient;
    for (std::int64_t i = 0; i < v.elements; ++i) {
        const float d = saturated(g[i] * f.gradient + f.decay * w[i]);
        g[i] = 0;
        w[i] = saturated(w[i] - f.lr * d);
    }
}

template <bool nesterov>
void with_momentum(const View& v, const Factors& f) {
    float* __restrict w = v.master;
    float* __restrict g = v.gradient;
    float* __restrict buffer = v.moment1;
    for (std::int64_t i = 0; i < v.elements; ++i) {
        const float d = saturated(g[i] * f.gradient + f.decay * w[i]);
        g[i] = 0;
        const float b = saturated(f.momentum * buffer[i] + d);
        buffer[i] = b;
        w[i] = saturated(w[i] - f.lr * (nesterov ? saturated(d + f.momentum * b) : b));
    }
}

void update_block(const View& v, const Factors& f) {
    if (v.moment1 == nullptr)
        plain(v, f);
    else if (f.nesterov)
        with_momentum<true>(v, f);
    else
        with_momentum<false>(v, f);
}

PreparedKernel prepare(const Signature& s) {
    const auto blocks = flat_walk::blocks_of(s.attributes.as<SgdUpdateAttributes>().segments);
    const auto kernel = [s, blocks](const KernelArgs& a) {
        const auto& hyper = s.attributes.as<SgdUpdateAttributes>();
        const flat_walk::Regions r = flat_walk::regions_of(kOneMoment, s, a);
        if (r.control.skip != 0) return flat_walk::zero_gradient(r, s.num_threads);
        const Factors factors = {r.control.gradient_factor, finite_f32(r.control.learning_rate),
                                 static_cast<float>(hyper.momentum), static_cast<float>(hyper.weight_decay),
                                 hyper.nesterov};
        flat_walk::for_each_block(r, blocks, flat_walk::Masters::kWrite, s.num_threads,
                                  [&](const View& view, std::int64_t) {
                                      Factors f = factors;
                                      if (!view.block.decayed) f.decay = 0;
                                      update_block(view, f);
                                  });
    };
    return {kernel, 0, "avx2"};
}

}  // namespace

void register_sgd_update_cpu(KernelTable& table) {
    table.add({sgd_update_op.name, "simd", flat_walk::refusal, prepare});
}

}  // namespace mpt

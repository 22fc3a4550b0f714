#include <cmath>

#include "ops/cached_attention/cached_attention.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_cached_attention(const Signature& s, const KernelArgs& a) {
    const CachedAttentionExtent e(s.inputs);
    const auto q = reference::input(s, a, 0), cache = reference::input(s, a, 1);
    const auto lengths = reference::input(s, a, 2), o = reference::output(s, a, 0);
    for (std::int64_t b = 0; b < e.batch; ++b)
        for (std::int64_t i = 0; i < e.queries; ++i)
            for (std::int64_t h = 0; h < e.heads; ++h) {
                const std::int64_t at = e.query_at(b, i, h);
                std::vector<double> p(
                    static_cast<std::size_t>(e.num_seen(i, static_cast<std::int64_t>(lengths(b)))));
                double greatest = -1e300, sum = 0;
                for (std::size_t j = 0; j < p.size(); ++j) {
                    for (std::int64_t d = 0; d < e.size; ++d)
                        p[j] += q(at + d) * cache(e.key_at(b, static_cast<std::int64_t>(j), h) + d);
                    p[j] /= std::sqrt(static_cast<double>(e.size));
                    greatest = std::max(greatest, p[j]);
                }
                for (double& value : p) sum += value = std::exp(value - greatest);
                for (std::int64_t d = 0; d < e.size; ++d) {
                    double value = 0;
                    for (std::size_t j = 0; j < p.size(); ++j)
                        value += p[j] / sum *
                                 cache(e.key_at(b, static_cast<std::int64_t>(j), h) + e.heads * e.size + d);
                    o.set(at + d, value);
                }
            }
}

}  // namespace

void register_cached_attention_ref(KernelTable& table) {
    table.add(reference::kernel<run_cached_attention>(cached_attention_op));
}

}  // namespace mpt

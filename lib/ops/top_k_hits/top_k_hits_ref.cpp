#include <algorithm>
#include <cmath>

#include "ops/reference.h"
#include "ops/top_k_hits/top_k_hits.h"

namespace mpt {

namespace {

void run_top_k_hits(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<TopKHitsAttributes>();
    const auto z = reference::input(s, a, 0);
    const std::int32_t* labels = a.in<std::int32_t>(1);
    const std::int64_t classes = z.dim(1);
    const std::int64_t five = std::min<std::int64_t>(5, classes);
    std::int32_t hits1 = 0, hits5 = 0;
    for (std::int64_t row = 0; row < z.dim(0); ++row) {
        const std::int64_t label = labels[row];
        if (label == attributes.ignore_index) continue;
        MPT_CHECK(label >= 0 && label < classes, "label " + std::to_string(label));
        const double own = z(row * classes + label);
        if (std::isnan(own)) continue;
        std::int64_t rank = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
            const double other = z(row * classes + c);
            if (std::isnan(other) || other > own || (other == own && c < label)) ++rank;
        }
        hits1 += rank < 1 ? 1 : 0;
        hits5 += rank < five ? 1 : 0;
    }
    a.out<std::int32_t>(0)[0] = hits1;
    a.out<std::int32_t>(1)[0] = hits5;
}

}  // namespace

void register_top_k_hits_ref(KernelTable& table) {
    table.add(reference::kernel<run_top_k_hits>(top_k_hits_op));
}

}  // namespace mpt

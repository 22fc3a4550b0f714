// top_k_hits: (z[M,V], labels i32 [M]) -> hits1 i32 [], hits5 i32 []: rows whose label is among the k
// greatest logits, k = 1 and min(5, V). Of equal logits the lower index counts as greater. Ignored labels
// never hit; nor does a row whose label's logit is NaN, and a NaN elsewhere counts as greater.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct TopKHitsAttributes {
    std::int64_t ignore_index = -1;
    bool operator==(const TopKHitsAttributes&) const = default;
};
std::string print(const TopKHitsAttributes& attributes);

extern const OpType top_k_hits_op;

struct TopKHitsOutputs {
    ValueId hits1, hits5;
};
TopKHitsOutputs top_k_hits(GraphBuilder& builder, ValueId z, ValueId labels,
                           TopKHitsAttributes attributes = {}, const std::string& name = "top_k_hits");

}  // namespace mpt

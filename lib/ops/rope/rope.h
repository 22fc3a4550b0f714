// rope: rotary positions (Su et al. 2021) on x[B,T,H,D], D even. Pair i is elements i and i + D/2 of a head
// (the two halves, as in GPT-NeoX and LLaMA, not neighbours as in the paper); at position p it is turned by
// the angle p base^(-2 i / D). Position of row t: t, plus `offset` (i32 [], or [B] with one a sequence;
// optional: kNone) when decoding. `inverse` turns back: the gradient of a rotation. Of packed x[B,T,P,H,D]
// the first `parts` of the P parts turn (q and k of qkv: 2), the others stay.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct RopeAttributes {
    double base = 10000;
    bool inverse = false;
    std::int64_t parts = 1;
    bool operator==(const RopeAttributes&) const = default;
};
std::string print(const RopeAttributes& attributes);

extern const OpType rope_op;

ValueId rope(GraphBuilder& builder, ValueId x, ValueId offset = kNone, RopeAttributes attributes = {},
             const std::string& name = "rope");

// The angle of pair `pair` of `head_size` / 2 at `position`.
double rope_angle(const RopeAttributes& attributes, std::int64_t position, std::int64_t pair,
                  std::int64_t head_size);

}  // namespace mpt

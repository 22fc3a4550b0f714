// cast: the only op that changes an element type: f64, f32, f16 or bf16 to any of them, rounded to nearest
// even. Its gradient is the cast back.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct CastAttributes {
    DType to = DType::f32;
    bool operator==(const CastAttributes&) const = default;
};
std::string print(const CastAttributes& attributes);

extern const OpType cast_op;

ValueId cast(GraphBuilder& builder, ValueId x, CastAttributes attributes, const std::string& name = "cast");

}  // namespace mpt

// reshape: the same elements in another shape, in the same order, in the memory of x.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct ReshapeAttributes {
    Shape shape;
    bool operator==(const ReshapeAttributes&) const = default;
};
std::string print(const ReshapeAttributes& attributes);

extern const OpType reshape_op;

// The value itself when it has the shape already.
ValueId reshape(GraphBuilder& builder, ValueId x, const Shape& shape, const std::string& name = "reshape");

}  // namespace mpt

// Cost of an op from its types.
#pragma once

#include <span>

#include "graph/op.h"

namespace mpt {

// Every input and output once through memory, and `flops` operations.
inline Cost cost_with_flops(double flops, std::span<const TensorType> inputs,
                            std::span<const TensorType> outputs) {
    Cost cost{.flops = flops};
    for (const TensorType& type : inputs) cost.bytes += static_cast<double>(type.bytes());
    for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
    return cost;
}

}  // namespace mpt

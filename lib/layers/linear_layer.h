// Fully connected layer with torchvision's names and PyTorch's initialiser.
#pragma once

#include <string>

#include "graph/builder.h"

namespace mpt {

// x[M,I] -> [M,O]. Parameters <name>.weight [O,I] and <name>.bias [O], both uniform in (-1/sqrt(I),
// 1/sqrt(I)).
ValueId linear_layer(GraphBuilder& builder, ValueId x, std::int64_t out_features, const std::string& name);

}  // namespace mpt

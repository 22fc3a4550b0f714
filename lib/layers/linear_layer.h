// Fully connected layers.
#pragma once

#include <string>

#include "graph/builder.h"

namespace mpt {

// x[M,I] -> [M,O] with torchvision's names and PyTorch's initialiser. Parameters <name>.weight [O,I] and
// <name>.bias [O], both uniform in (-1/sqrt(I), 1/sqrt(I)).
ValueId linear_layer(GraphBuilder& builder, ValueId x, std::int64_t out_features, const std::string& name);

struct LinearConfig {
    std::int64_t out_features = 0;
    Initializer weight;
    bool bias = true;  // from 0
    FileLayout layout = {};
};
// The same for those who initialise otherwise.
ValueId linear_layer(GraphBuilder& builder, ValueId x, const LinearConfig& config, const std::string& name);

// The parameters of such a layer without its product. `bias` is kNone where there is none.
struct LinearParameters {
    ValueId weight, bias;
    // The layer that makes `count` of the outputs, from `first` on.
    LinearParameters rows(GraphBuilder& builder, std::int64_t first, std::int64_t count) const;
};
LinearParameters linear_parameters(GraphBuilder& builder, std::int64_t in_features,
                                   const LinearConfig& config, const std::string& name);

}  // namespace mpt

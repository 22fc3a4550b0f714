// Normalisation of the last dimension with a learned gain and, where wanted, a bias.
#pragma once

#include <cstdint>
#include <string>

#include "graph/builder.h"

namespace mpt {

enum class NormKind : std::uint8_t { kLayerNorm, kRmsNorm };

struct NormConfig {
    NormKind kind = NormKind::kLayerNorm;
    double epsilon = 1e-5;
    bool bias = true;  // rms_norm has none
};

// x[...,C] -> [...,C]. Parameters <name>.weight, from 1, and <name>.bias, from 0.
ValueId norm_layer(GraphBuilder& builder, ValueId x, const NormConfig& config, const std::string& name);

}  // namespace mpt

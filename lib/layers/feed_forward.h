// The two products of a Transformer's block with an activation between them.
#pragma once

#include <cstdint>
#include <string>

#include "layers/dropout_layer.h"
#include "layers/linear_layer.h"

namespace mpt {

// swiglu (Shazeer 2020): silu(gate x) * (up x), with a third matrix for the gate.
enum class Activation : std::uint8_t { kRelu, kGelu, kGeluTanh, kSwiglu };

struct FeedForwardConfig {
    Activation activation = Activation::kRelu;
    LinearConfig up, down;
    std::string up_name, gate_name, down_name;  // of the layers; gate: swiglu only, initialised like up
};
// x[M,C] -> [M,C]. `dropped` acts behind the activation, or before relu, which comes to the same: relu
// is then still one with the product that follows.
ValueId feed_forward(GraphBuilder& builder, ValueId x, const FeedForwardConfig& config,
                     DropoutLayer& dropped);
ValueId feed_forward(GraphBuilder& builder, ValueId x, const FeedForwardConfig& config);

// The usual inner width: 4 C; for swiglu 8/3 C, which makes as many parameters, rounded up to 64.
std::int64_t default_feed_forward_width(std::int64_t width, Activation activation);

}  // namespace mpt

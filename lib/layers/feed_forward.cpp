#include "layers/feed_forward.h"

#include "ops/gelu/gelu.h"
#include "ops/multiply/multiply.h"
#include "ops/relu/relu.h"
#include "ops/silu/silu.h"

namespace mpt {

namespace {

ValueId activated(GraphBuilder& builder, ValueId x, const FeedForwardConfig& config, DropoutLayer* dropped) {
    const auto drop = [&](ValueId value) {
        return dropped == nullptr ? value : (*dropped)(value, config.up_name + ".dropout");
    };
    const ValueId up = linear_layer(builder, x, config.up, config.up_name);
    switch (config.activation) {
        case Activation::kRelu:
            return relu(builder, drop(up), "relu");
        case Activation::kGelu:
            return drop(gelu(builder, up, {GeluForm::kExact}, "gelu"));
        case Activation::kGeluTanh:
            return drop(gelu(builder, up, {GeluForm::kTanh}, "gelu"));
        case Activation::kSwiglu:
            break;
    }
    const ValueId gate = linear_layer(builder, x, config.up, config.gate_name);
    return drop(multiply(builder, silu(builder, gate, "silu"), up, "swiglu"));
}

}  // namespace

ValueId feed_forward(GraphBuilder& builder, ValueId x, const FeedForwardConfig& config,
                     DropoutLayer& dropped) {
    return linear_layer(builder, activated(builder, x, config, &dropped), config.down, config.down_name);
}

ValueId feed_forward(GraphBuilder& builder, ValueId x, const FeedForwardConfig& config) {
    return linear_layer(builder, activated(builder, x, config, nullptr), config.down, config.down_name);
}

std::int64_t default_feed_forward_width(std::int64_t width, Activation activation) {
    if (activation != Activation::kSwiglu) return 4 * width;
    return (8 * width / 3 + 63) / 64 * 64;
}

}  // namespace mpt

#include "layers/norm_layer.h"

#include "ops/layer_norm/layer_norm.h"
#include "ops/rms_norm/rms_norm.h"

namespace mpt {

ValueId norm_layer(GraphBuilder& builder, ValueId x, const NormConfig& config, const std::string& name) {
    const Shape shape = {builder.type(x).shape[-1]};
    const auto constant = [](float value) { return Initializer{Initializer::Kind::kConstant, value}; };
    const ValueId gain = builder.parameter(name + ".weight", shape, Role::kNormGain, constant(1));
    if (config.kind == NormKind::kRmsNorm) return rms_norm(builder, x, gain, {config.epsilon}, name).y;
    const ValueId bias =
        config.bias ? builder.parameter(name + ".bias", shape, Role::kNormBias, constant(0)) : kNone;
    return layer_norm(builder, x, gain, bias, {config.epsilon}, name).y;
}

}  // namespace mpt

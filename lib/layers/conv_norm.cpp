#include "layers/conv_norm.h"

#include <cmath>

#include "ops/batch_norm/batch_norm.h"
#include "ops/conv2d/conv2d.h"

namespace mpt {

namespace {

Initializer kaiming_fan_out(const ConvNormConfig& config) {
    const double fan_out = static_cast<double>(config.out_channels * config.kernel * config.kernel);
    return {Initializer::Kind::kNormal, static_cast<float>(std::sqrt(2.0 / fan_out))};
}

ValueId batch_norm_layer(GraphBuilder& builder, ValueId x, const ConvNormConfig& config,
                         const std::string& name) {
    const Shape shape = {config.out_channels};
    const auto constant = [](float value) { return Initializer{Initializer::Kind::kConstant, value}; };
    const ValueId gamma =
        builder.parameter(name + ".weight", shape, Role::kNormGain, constant(config.norm_gain));
    const ValueId beta = builder.parameter(name + ".bias", shape, Role::kNormBias, constant(0));
    const ValueId mean = builder.parameter(name + ".running_mean", shape, Role::kRunningMean, constant(0));
    const ValueId variance =
        builder.parameter(name + ".running_var", shape, Role::kRunningVariance, constant(1));
    if (config.mode == NormMode::kEvaluate)
        return batch_norm_inference(builder, {x, gamma, beta, mean, variance}, {config.norm_epsilon}, name);

    const BatchNormOutputs normed = batch_norm(builder, x, gamma, beta, {config.norm_epsilon}, name);
    const TensorType& type = builder.type(x);
    running_statistics(
        builder, {mean, variance, normed.mean, normed.rstd},
        {config.norm_momentum, config.norm_epsilon, type.shape.num_elements() / type.shape[-1]},
        name + ".running");
    return normed.y;
}

}  // namespace

ValueId conv_norm(GraphBuilder& builder, ValueId x, const ConvNormConfig& config, const std::string& conv,
                  const std::string& norm) {
    const Shape weight = {config.out_channels, config.kernel, config.kernel, builder.type(x).shape[-1]};
    const ValueId w = builder.parameter(conv + ".weight", weight, Role::kConvWeight, kaiming_fan_out(config));
    const ValueId y = conv2d(builder, x, w, {config.stride, config.pad}, conv);
    return batch_norm_layer(builder, y, config, norm);
}

}  // namespace mpt

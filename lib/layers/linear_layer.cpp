#include "layers/linear_layer.h"

#include <cmath>

#include "ops/linear/linear.h"

namespace mpt {

ValueId linear_layer(GraphBuilder& builder, ValueId x, std::int64_t out_features, const std::string& name) {
    const std::int64_t in_features = builder.type(x).shape[-1];
    const Initializer uniform = {Initializer::Kind::kUniform,
                                 static_cast<float>(1.0 / std::sqrt(static_cast<double>(in_features)))};
    const ValueId w =
        builder.parameter(name + ".weight", {out_features, in_features}, Role::kMatrix, uniform);
    const ValueId bias = builder.parameter(name + ".bias", {out_features}, Role::kBias, uniform);
    return linear(builder, x, w, bias, name);
}

ValueId linear_layer(GraphBuilder& builder, ValueId x, const LinearConfig& config, const std::string& name) {
    const LinearParameters parameters = linear_parameters(builder, builder.type(x).shape[-1], config, name);
    return linear(builder, x, parameters.weight, parameters.bias, name);
}

LinearParameters linear_parameters(GraphBuilder& builder, std::int64_t in_features,
                                   const LinearConfig& config, const std::string& name) {
    const Shape shape = {config.out_features, in_features};
    LinearParameters parameters{
        builder.parameter(name + ".weight", shape, Role::kMatrix, config.weight, config.layout), kNone};
    if (config.bias)
        parameters.bias = builder.parameter(name + ".bias", {config.out_features}, Role::kBias, {});
    return parameters;
}

LinearParameters LinearParameters::rows(GraphBuilder& builder, std::int64_t first, std::int64_t count) const {
    return {builder.parameter_rows(weight, first, count),
            bias == kNone ? kNone : builder.parameter_rows(bias, first, count)};
}

}  // namespace mpt

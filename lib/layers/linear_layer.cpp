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

}  // namespace mpt

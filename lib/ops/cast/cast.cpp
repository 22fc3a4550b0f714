#include "ops/cast/cast.h"

namespace mpt {

std::string print(const CastAttributes& a) {
    return "to=" + std::string(name_of(a.to));
}

namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const DType to = attributes.as<CastAttributes>().to;
    MPT_CHECK(is_float(to) && is_float(inputs[0].dtype), "cast between floating types only");
    return {{inputs[0].shape, to}};
}

void differentiate(GradientContext& context) {
    context.set(
        0, cast(context.builder, context.grad(), {context.builder.type(context.in(0)).dtype}, "backward"));
}

}  // namespace

const OpType cast_op = {
    .name = "cast",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
    .differentiate = differentiate,
};

ValueId cast(GraphBuilder& builder, ValueId x, CastAttributes attributes, const std::string& name) {
    return builder.add(cast_op, attributes, {x}, name);
}

void register_cast(OpTable& table) {
    table.add(cast_op);
    table.roles.cast_op = &cast_op;
    table.roles.cast = [](GraphBuilder& builder, ValueId x, DType to, const std::string& name) {
        return cast(builder, x, {to}, name);
    };
}

}  // namespace mpt

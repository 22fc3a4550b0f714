#include "ops/conv2d_backward_fused/conv2d_backward_fused.h"

#include <fmt/format.h>

#include "ops/accumulate/accumulate.h"
#include "ops/add/add.h"
#include "ops/channel_affine/channel_affine.h"
#include "ops/channel_reductions/channel_reductions.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d_backward_fused/rewrites.h"
#include "ops/cost.h"
#include "ops/relu/relu.h"

namespace mpt {

std::string print(const Conv2dBackwardFusedAttributes& a) {
    std::string text = fmt::format("stride={} pad={} input={}x{} kernel={}x{}", a.stride, a.pad, a.height,
                                   a.width, a.kernel_h, a.kernel_w);
    if (a.input_affine) text += " input_affine";
    if (a.input_relu) text += " input_relu";
    if (a.grad_affine) text += " grad_affine";
    if (a.add) text += " add";
    if (a.mask == InputMask::kInput) text += " mask=input";
    if (a.mask == InputMask::kInputAffine) text += " mask=input_affine";
    if (a.reductions) text += fmt::format(" reductions references={}", a.num_references);
    return text;
}

Conv2dBackwardFusedOutputs outputs_of(const Conv2dBackwardFusedAttributes& a) {
    Conv2dBackwardFusedOutputs outputs;
    int next = 0;
    if (a.need_weight) outputs.buffer = next++;
    if (a.need_data) outputs.grad_x = next++;
    if (a.reductions) outputs.reductions = next++;
    return outputs;
}

const OpType& conv2d_backward_fused_op_for(const Conv2dBackwardFusedAttributes& a) {
    MPT_CHECK(a.need_data || a.need_weight, "a convolution's backward pass that makes nothing");
    if (!a.need_weight) return conv2d_backward_data_fused_op;
    return a.need_data ? conv2d_backward_fused_op : conv2d_backward_weight_fused_op;
}

namespace {

namespace in = conv2d_backward_fused_input;

bool reads_x(const Conv2dBackwardFusedAttributes& a) {
    return a.need_weight || a.mask != InputMask::kOff;
}

void check_flags(const Conv2dBackwardFusedAttributes& a) {
    MPT_CHECK(a.need_data || (!a.add && a.mask == InputMask::kOff && !a.reductions),
              "conv2d_backward_fused: an epilogue without grad_x");
    MPT_CHECK(a.reductions ? a.num_references == 1 || a.num_references == 2 : a.num_references == 0,
              "conv2d_backward_fused: reductions of " + std::to_string(a.num_references) + " references");
    MPT_CHECK(a.input_affine || (!a.input_relu && a.mask != InputMask::kInputAffine),
              "conv2d_backward_fused: an affine that is not given");
    MPT_CHECK(!a.input_affine || a.mask != InputMask::kInput,
              "conv2d_backward_fused: a mask by an input that is not activated");
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<Conv2dBackwardFusedAttributes>();
    check_flags(a);
    const TensorType& g = inputs[in::kG];
    const std::int64_t channels = a.need_data ? inputs[in::kW].shape[3] : inputs[in::kX].shape[3];
    const Shape w{g.shape[3], a.kernel_h, a.kernel_w, channels};
    const std::vector<TensorType> plain = {g, {w, g.dtype}};
    const TensorType grad_x = conv2d_backward_data_op.infer(
        Conv2dBackwardDataAttributes{a.stride, a.pad, a.height, a.width}, plain)[0];
    const auto expect = [&](bool given, int index, const Shape& shape) {
        if (given)
            MPT_CHECK(
                inputs[static_cast<std::size_t>(index)].shape == shape,
                fmt::format("conv2d_backward_fused: input {} is {}, not {}", index,
                            to_string(inputs[static_cast<std::size_t>(index)].shape), to_string(shape)));
    };
    expect(a.need_data, in::kW, w);
    expect(reads_x(a), in::kX, grad_x.shape);
    for (const int i : {in::kScale, in::kShift}) expect(a.input_affine, i, {channels});
    expect(a.grad_affine, in::kY, g.shape);
    for (const int i : {in::kA, in::kB, in::kC}) expect(a.grad_affine, i, {w[0]});
    expect(a.add, in::kAddend, grad_x.shape);
    expect(a.num_references >= 1, in::kRef1, grad_x.shape);
    expect(a.num_references >= 2, in::kRef2, grad_x.shape);
    expect(a.need_weight, in::kBuffer, w);

    std::vector<TensorType> outputs;
    if (a.need_weight) outputs.push_back(inputs[in::kBuffer]);
    if (a.need_data) outputs.push_back(grad_x);
    if (a.reductions) outputs.push_back({{1 + a.num_references, channels}, wide_of(g.dtype)});
    return outputs;
}

bool is_data(const Attributes&, int index) {
    switch (index) {
        case in::kX:
        case in::kW:
        case in::kG:
        case in::kY:
        case in::kAddend:
        case in::kRef1:
        case in::kRef2:
            return true;
        default:
            return false;
    }
}

Cost cost(const Attributes& attributes, std::span<const TensorType> inputs,
          std::span<const TensorType> outputs) {
    const auto& a = attributes.as<Conv2dBackwardFusedAttributes>();
    const Shape& g = inputs[in::kG].shape;
    const double channels =
        static_cast<double>(a.need_data ? inputs[in::kW].shape[3] : inputs[in::kX].shape[3]);
    const double x_elements = static_cast<double>(g[0] * a.height * a.width) * channels;
    const double product = 2.0 * static_cast<double>(g.num_elements() * a.kernel_h * a.kernel_w) * channels;
    double flops = (a.need_data ? product : 0) + (a.need_weight ? product : 0);
    if (a.input_affine) flops += 3 * x_elements;
    if (a.grad_affine) flops += 4 * static_cast<double>(g.num_elements());
    flops += x_elements * ((a.add ? 1 : 0) + (a.mask != InputMask::kOff ? 1 : 0) +
                           (a.reductions ? 1 + 2 * a.num_references : 0));
    return cost_with_flops(flops, inputs, outputs);
}

std::vector<ValueId> decompose(GraphBuilder& builder, const Node& node) {
    const auto& a = node.attributes.as<Conv2dBackwardFusedAttributes>();
    const auto input = [&](int index) { return node.inputs[static_cast<std::size_t>(index)]; };
    const std::string& name = node.name;
    ValueId g = input(in::kG);
    if (a.grad_affine)
        g = builder.add(channel_combine_op, {},
                        {g, input(in::kY), input(in::kA), input(in::kB), input(in::kC)}, name + ".combine");
    ValueId x = input(in::kX);
    if (a.input_affine)
        x = builder.add(channel_affine_op, ChannelAffineAttributes{a.input_relu},
                        {x, input(in::kScale), input(in::kShift)}, name + ".affine");
    std::vector<ValueId> outputs;
    if (a.need_weight) {
        const ValueId grad_w = conv2d_backward_weight(
            builder, g, x, {a.stride, a.pad, a.kernel_h, a.kernel_w}, name + ".backward_weight");
        outputs.push_back(accumulate(builder, input(in::kBuffer), grad_w, name + ".accumulate"));
    }
    if (!a.need_data) return outputs;
    ValueId grad_x = conv2d_backward_data(builder, g, input(in::kW), {a.stride, a.pad, a.height, a.width},
                                          name + ".backward_data");
    if (a.add) grad_x = add(builder, grad_x, input(in::kAddend), name + ".add");
    if (a.mask != InputMask::kOff) grad_x = relu_backward(builder, grad_x, x, name + ".relu");
    outputs.push_back(grad_x);
    if (a.reductions)
        outputs.push_back(builder.add(channel_reductions_op, ChannelReductionsAttributes{a.num_references},
                                      {grad_x, input(in::kRef1), input(in::kRef2)}, name + ".reductions"));
    return outputs;
}

OpType op_named(std::string_view name, std::vector<Alias> must_alias) {
    return {
        .name = name,
        .precision = PrecisionClass::kNarrow,
        .infer = infer,
        .is_data_input = is_data,
        .cost = cost,
        .must_alias = std::move(must_alias),
        .decompose = decompose,
    };
}

}  // namespace

const OpType conv2d_backward_fused_op = op_named("conv2d_backward_fused", {{0, in::kBuffer}});
const OpType conv2d_backward_data_fused_op = op_named("conv2d_backward_data_fused", {});
const OpType conv2d_backward_weight_fused_op = op_named("conv2d_backward_weight_fused", {{0, in::kBuffer}});

void register_conv2d_backward_fused(OpTable& table) {
    table.add(conv2d_backward_fused_op);
    table.add(conv2d_backward_data_fused_op);
    table.add(conv2d_backward_weight_fused_op);
    add_conv2d_backward_rewrites(table);
}

}  // namespace mpt

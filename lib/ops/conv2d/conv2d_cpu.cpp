#include <algorithm>
#include <memory>

#include "backends/cpu/conv_engine.h"
#include "ops/conv2d/conv2d.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

cpu::ConvShape conv_shape(const Shape& x, const Shape& w, std::int64_t stride, std::int64_t pad) {
    return {x[0], x[1], x[2], x[3], w[0], w[1], w[2], stride, pad};
}

cpu::ConvForwardSpec forward_spec(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dAttributes>();
    cpu::ConvForwardSpec spec;
    spec.shape = conv_shape(s.in(0).shape, s.in(1).shape, a.stride, a.pad);
    spec.x = s.in(0).dtype;
    spec.weight = s.in(1).dtype;
    spec.y = s.out(0).dtype;
    return spec;
}

cpu::ConvBackwardSpec data_spec(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dBackwardDataAttributes>();
    cpu::ConvBackwardSpec spec;
    spec.shape = conv_shape(s.out(0).shape, s.in(1).shape, a.stride, a.pad);
    spec.g = s.in(0).dtype;
    spec.weight = s.in(1).dtype;
    spec.dx = s.out(0).dtype;
    spec.need_weight = false;
    return spec;
}

cpu::ConvBackwardSpec weight_spec(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dBackwardWeightAttributes>();
    cpu::ConvBackwardSpec spec;
    spec.shape = conv_shape(s.in(1).shape, s.out(0).shape, a.stride, a.pad);
    spec.g = s.in(0).dtype;
    spec.x = s.in(1).dtype;
    spec.need_data = false;
    return spec;
}

std::string refusal(const Signature& s) {
    return cpu::ConvForward::refusal(forward_spec(s));
}
std::string data_refusal(const Signature& s) {
    return cpu::ConvBackward::refusal(data_spec(s));
}
std::string weight_refusal(const Signature& s) {
    if (s.out(0).dtype != DType::f32) return "sums weight gradients only in f32";
    return cpu::ConvBackward::refusal(weight_spec(s));
}

PreparedKernel prepare(const Signature& s) {
    const auto engine = std::make_shared<const cpu::ConvForward>(forward_spec(s), s.num_threads);
    const auto run = [engine](const KernelArgs& a) {
        cpu::ConvForwardArgs args;
        args.x = a.inputs[0];
        args.w = a.inputs[1];
        args.y = a.outputs[0];
        args.workspace = a.workspace;
        engine->run(args);
    };
    return {run, engine->workspace_bytes(), engine->description()};
}

PreparedKernel prepare_data(const Signature& s) {
    const auto engine = std::make_shared<const cpu::ConvBackward>(data_spec(s), s.num_threads);
    const auto run = [engine](const KernelArgs& a) {
        cpu::ConvBackwardArgs args;
        args.g = a.inputs[0];
        args.w = a.inputs[1];
        args.dx = a.outputs[0];
        args.workspace = a.workspace;
        engine->run(args);
    };
    return {run, engine->workspace_bytes(), engine->description()};
}

PreparedKernel prepare_weight(const Signature& s) {
    const auto engine = std::make_shared<const cpu::ConvBackward>(weight_spec(s), s.num_threads);
    const std::int64_t elements = s.out(0).shape.num_elements();
    const auto run = [engine, elements](const KernelArgs& a) {
        cpu::ConvBackwardArgs args;
        args.g = a.inputs[0];
        args.x = a.inputs[1];
        args.dw = a.out<float>(0);
        args.workspace = a.workspace;
        std::fill_n(args.dw, elements, 0.0f);  // the engine adds
        engine->run(args);
    };
    return {run, engine->workspace_bytes(), engine->description()};
}

}  // namespace

void register_conv2d_cpu(KernelTable& table) {
    table.add({conv2d_op.name, "xsmm", refusal, prepare});
    table.add({conv2d_backward_data_op.name, "xsmm", data_refusal, prepare_data});
    table.add({conv2d_backward_weight_op.name, "xsmm", weight_refusal, prepare_weight});
}

}  // namespace mpt

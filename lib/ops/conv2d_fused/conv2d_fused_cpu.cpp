#include <memory>

#include "backends/cpu/conv_engine.h"
#include "graph/kernel.h"
#include "ops/conv2d_fused/conv2d_fused.h"

namespace mpt {

namespace {

namespace in = conv2d_fused_input;

cpu::ConvForwardSpec spec_of(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dFusedAttributes>();
    const Shape& x = s.in(in::kX).shape;
    const Shape& w = s.in(in::kW).shape;
    cpu::ConvForwardSpec spec;
    spec.shape = {x[0], x[1], x[2], x[3], w[0], w[1], w[2], a.stride, a.pad};
    spec.x = s.in(in::kX).dtype;
    spec.y = s.out(0).dtype;
    spec.weight = s.in(in::kW).dtype;
    spec.input_affine = a.input_affine;
    spec.input_relu = a.input_relu;
    spec.statistics = a.statistics;
    return spec;
}

std::string refusal(const Signature& s) {
    return cpu::ConvForward::refusal(spec_of(s));
}

PreparedKernel prepare(const Signature& s) {
    const bool statistics = s.attributes.as<Conv2dFusedAttributes>().statistics;
    const auto conv = std::make_shared<const cpu::ConvForward>(spec_of(s), s.num_threads);
    const auto run = [conv, statistics](const KernelArgs& k) {
        cpu::ConvForwardArgs args;
        args.x = k.in<void>(in::kX);
        args.scale = k.in<float>(in::kScale);
        args.shift = k.in<float>(in::kShift);
        args.w = k.in<void>(in::kW);
        args.y = k.out<void>(0);
        args.statistics = statistics ? k.out<float>(1) : nullptr;
        args.workspace = k.workspace;
        conv->run(args);
    };
    return {run, conv->workspace_bytes(), conv->description()};
}

}  // namespace

void register_conv2d_fused_cpu(KernelTable& table) {
    table.add({conv2d_fused_op.name, "xsmm", refusal, prepare});
}

}  // namespace mpt

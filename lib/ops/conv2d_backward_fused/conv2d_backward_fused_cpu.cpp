#include <cstring>
#include <memory>

#include "backends/cpu/conv_engine.h"
#include "graph/kernel.h"
#include "ops/conv2d_backward_fused/conv2d_backward_fused.h"

namespace mpt {

namespace {

namespace in = conv2d_backward_fused_input;

cpu::ReluMask mask_of(InputMask mask) {
    switch (mask) {
        case InputMask::kOff:
            return cpu::ReluMask::kNone;
        case InputMask::kInput:
            return cpu::ReluMask::kInput;
        case InputMask::kInputAffine:
            return cpu::ReluMask::kInputAffine;
    }
    return cpu::ReluMask::kNone;
}

cpu::ConvBackwardSpec spec_of(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const TensorType& g = s.in(in::kG);
    const auto type_of = [&](int index) { return s.has(index) ? s.in(index).dtype : g.dtype; };
    cpu::ConvBackwardSpec spec;
    const std::int64_t channels = s.has(in::kW) ? s.in(in::kW).shape[3] : s.in(in::kX).shape[3];
    spec.shape = {g.shape[0], a.height,   a.width,  channels, g.shape[3],
                  a.kernel_h, a.kernel_w, a.stride, a.pad};
    spec.x = type_of(in::kX);
    spec.y = type_of(in::kY);
    spec.g = spec.dx = g.dtype;
    spec.addend = type_of(in::kAddend);
    spec.weight = type_of(in::kW);
    spec.reference = type_of(in::kRef1);
    spec.need_data = a.need_data;
    spec.need_weight = a.need_weight;
    spec.input_affine = a.input_affine;
    spec.input_relu = a.input_relu;
    spec.grad_affine = a.grad_affine;
    spec.add = a.add;
    spec.mask = mask_of(a.mask);
    spec.num_references = a.num_references;
    spec.reductions = a.reductions;
    return spec;
}

std::string refusal(const Signature& s) {
    if (s.has(in::kBuffer) && s.in(in::kBuffer).dtype != DType::f32)
        return "adds weight gradients in f32 only";
    if (s.has(in::kRef2) && s.in(in::kRef2).dtype != s.in(in::kRef1).dtype)
        return "needs references of one type";
    return cpu::ConvBackward::refusal(spec_of(s));
}

cpu::ConvBackwardArgs args_of(const KernelArgs& k, const Conv2dBackwardFusedOutputs& outputs) {
    cpu::ConvBackwardArgs args;
    args.x = k.in<void>(in::kX);
    args.scale = k.in<float>(in::kScale);
    args.shift = k.in<float>(in::kShift);
    args.w = k.in<void>(in::kW);
    args.g = k.in<void>(in::kG);
    args.y = k.in<void>(in::kY);
    args.a = k.in<float>(in::kA);
    args.b = k.in<float>(in::kB);
    args.c = k.in<float>(in::kC);
    args.addend = k.in<void>(in::kAddend);
    args.references[0] = k.in<void>(in::kRef1);
    args.references[1] = k.in<void>(in::kRef2);
    args.dw = outputs.buffer == kNone ? nullptr : k.out<float>(outputs.buffer);
    args.dx = outputs.grad_x == kNone ? nullptr : k.out<void>(outputs.grad_x);
    args.reductions = outputs.reductions == kNone ? nullptr : k.out<float>(outputs.reductions);
    args.workspace = k.workspace;
    return args;
}

PreparedKernel prepare(const Signature& s) {
    const Conv2dBackwardFusedOutputs outputs = outputs_of(s.attributes.as<Conv2dBackwardFusedAttributes>());
    const auto buffer_bytes = static_cast<std::size_t>(outputs.buffer == kNone ? 0 : s.out(0).bytes());
    const auto conv = std::make_shared<const cpu::ConvBackward>(spec_of(s), s.num_threads);
    const auto run = [conv, outputs, buffer_bytes](const KernelArgs& k) {
        const cpu::ConvBackwardArgs args = args_of(k, outputs);
        // A plan gives both the same memory; a caller that does not gets a copy.
        const void* old = k.in<void>(in::kBuffer);
        if (buffer_bytes != 0 && old != args.dw) std::memcpy(args.dw, old, buffer_bytes);
        conv->run(args);
    };
    return {run, conv->workspace_bytes(), conv->description()};
}

}  // namespace

void register_conv2d_backward_fused_cpu(KernelTable& table) {
    for (const OpType* op :
         {&conv2d_backward_fused_op, &conv2d_backward_data_fused_op, &conv2d_backward_weight_fused_op})
        table.add({op->name, "xsmm", refusal, prepare});
}

}  // namespace mpt

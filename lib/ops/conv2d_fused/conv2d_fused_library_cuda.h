// Convolutions with what surrounds them, by the device's library (cuDNN): forward. For conv2d_fused_cuda.cu
// only.
#pragma once

#include "ops/conv2d_fused/conv2d_fused.h"
#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline ConvolutionSpec library_convolution(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dFusedAttributes>();
    const Shape &x = s.in(conv2d_fused_input::kX).shape, &w = s.in(conv2d_fused_input::kW).shape;
    const Shape& y = s.out(0).shape;
    ConvolutionSpec c;
    c.n = x[0], c.h = x[1], c.w = x[2], c.c = x[3];
    c.k = w[0], c.r = w[1], c.s = w[2], c.p = y[1], c.q = y[2];
    c.stride = a.stride, c.pad = a.pad;
    c.dtype = s.in(conv2d_fused_input::kX).dtype;
    const Device* device = current_device();
    c.tf32 = device != nullptr && device->settings().tf32;
    c.fusion.affine = a.input_affine;
    c.fusion.relu = a.input_affine && a.input_relu;
    c.fusion.statistics = a.statistics;
    return c;
}

inline std::string library_convolution_refusal(const Signature& s) {
    const auto& a = s.attributes.as<Conv2dFusedAttributes>();
    if (s.in(conv2d_fused_input::kX).dtype != s.in(conv2d_fused_input::kW).dtype)
        return "needs one type of data";
    if (a.input_relu && !a.input_affine) return "takes an activation only behind a scale";
    if (a.statistics && s.out(0).shape[3] % 4 != 0) return "takes statistics of multiples of 4 channels";
    const std::string why = refusal(s);
    if (!why.empty()) return why;
    return current_device() == nullptr ? "needs a device"
                                       : current_device()->plan_convolution(library_convolution(s)).refusal;
}

inline PreparedKernel prepare_library_convolution(const Signature& signature) {
    const Call s(signature);
    const ConvolutionSpec spec = library_convolution(s);
    const Planned<ConvolutionArgs> plan = s.device->plan_convolution(spec);
    return {[spec, plan](const KernelArgs& a) {
                namespace in = conv2d_fused_input;
                ConvolutionArgs args{a.inputs[in::kX], a.inputs[in::kW], a.outputs[0], a.workspace};
                if (spec.fusion.affine)
                    args.scale = a.in<float>(in::kScale), args.shift = a.in<float>(in::kShift);
                if (spec.fusion.statistics) args.sums = a.out<float>(1);
                plan.run(args);
            },
            plan.workspace_bytes, plan.description};
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

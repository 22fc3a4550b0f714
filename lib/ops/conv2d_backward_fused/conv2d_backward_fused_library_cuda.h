// The gradients of a convolution with what surrounds them, by the device's library (cuDNN). For
// conv2d_backward_fused_cuda.cu only.
#pragma once

#include <algorithm>
#include <optional>

#include "backends/cuda/map.h"
#include "ops/conv2d_backward_fused/conv2d_backward_fused.h"
#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

// What the library is asked for: the data gradient, the same with sums over it (where they are of the tensor
// that masks it), and the weights' gradient.
struct LibraryBackward {
    std::optional<ConvolutionSpec> data, data_with_sums, weight;
};

inline LibraryBackward library_backward(const Signature& s) {
    namespace in = conv2d_backward_fused_input;
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Shape& g = s.in(in::kG).shape;
    ConvolutionSpec c;
    c.n = g[0], c.h = a.height, c.w = a.width;
    c.c = a.need_data ? s.in(in::kW).shape[3] : s.in(in::kX).shape[3];
    c.k = g[3], c.r = a.kernel_h, c.s = a.kernel_w, c.p = g[1], c.q = g[2];
    c.stride = a.stride, c.pad = a.pad;
    c.dtype = s.in(in::kG).dtype;
    const Device* device = current_device();
    c.tf32 = device != nullptr && device->settings().tf32;
    LibraryBackward calls;
    if (a.need_weight) {
        calls.weight = c;
        calls.weight->kind = ConvolutionKind::kBackwardWeight;
        calls.weight->fusion.affine = a.input_affine;
        calls.weight->fusion.relu = a.input_affine && a.input_relu;
    }
    if (!a.need_data) return calls;
    c.kind = ConvolutionKind::kBackwardData;
    c.fusion.add = a.add;
    c.fusion.mask = a.mask != InputMask::kOff;
    c.fusion.affine = a.mask == InputMask::kInputAffine;
    calls.data = c;
    if (a.reductions && a.num_references == 1 && c.fusion.affine) {
        calls.data_with_sums = c;
        calls.data_with_sums->fusion.reductions = true;
    }
    return calls;
}

inline std::string library_backward_refusal(const Signature& s) {
    namespace in = conv2d_backward_fused_input;
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const std::string why = refusal(s);
    if (!why.empty()) return why;
    if (a.grad_affine) return "takes no scale and shift of the gradient that comes in";
    if (a.input_relu && !a.input_affine) return "takes an activation only behind a scale";
    for (const int index : {in::kX, in::kW, in::kAddend})
        if (s.has(index) && s.in(index).dtype != s.in(in::kG).dtype) return "needs one type of data";
    if (current_device() == nullptr) return "needs a device";
    const LibraryBackward calls = library_backward(s);
    for (const auto* spec : {&calls.data, &calls.weight})
        if (*spec)
            if (std::string no = current_device()->plan_convolution(**spec).refusal; !no.empty()) return no;
    return {};
}

struct AddTo {
    MPT_DEVICE float operator()(std::int64_t, float buffer, float x) const { return buffer + x; }
};

// The weights' gradient comes in the type of the data, in the workspace, and is added to the f32 buffer.
inline void run_library_weight(const Call& s, const ConvolutionSpec& spec,
                               const Planned<ConvolutionArgs>& plan, const KernelArgs& args) {
    namespace in = conv2d_backward_fused_input;
    const int output = outputs_of(s.attributes.as<Conv2dBackwardFusedAttributes>()).buffer;
    const std::int64_t elements = elements_of(s, output);
    auto* workspace = static_cast<std::byte*>(args.workspace);
    const std::size_t bytes = (static_cast<std::size_t>(elements) * size_of(spec.dtype) + 255) / 256 * 256;
    ConvolutionArgs call{args.inputs[in::kG], args.inputs[in::kX], workspace, workspace + bytes};
    if (spec.fusion.affine) call.scale = args.in<float>(in::kScale), call.shift = args.in<float>(in::kShift);
    plan.run(call);
    with_storage(spec.dtype, [&]<typename T>(T) {
        map(*s.device, elements, AddTo{}, args.out<float>(output), args.in<float>(in::kBuffer),
            reinterpret_cast<const T*>(workspace));
    });
}

// Sums are by the library where they are of the tensor that masks, otherwise by `sum` afterwards.
using SumGradient = void (*)(const Call&, const KernelArgs&);

inline void run_library_data(const Call& s, const Planned<ConvolutionArgs>& plain,
                             const Planned<ConvolutionArgs>& with_sums, SumGradient sum,
                             const KernelArgs& args) {
    namespace in = conv2d_backward_fused_input;
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Conv2dBackwardFusedOutputs outputs = outputs_of(a);
    ConvolutionArgs call{args.inputs[in::kG], args.inputs[in::kW],
                         args.outputs[static_cast<std::size_t>(outputs.grad_x)], args.workspace};
    if (a.add) call.addend = args.inputs[in::kAddend];
    if (a.mask != InputMask::kOff) call.masked = args.inputs[in::kX];
    if (a.mask == InputMask::kInputAffine)
        call.scale = args.in<float>(in::kScale), call.shift = args.in<float>(in::kShift);
    if (with_sums && args.inputs[in::kRef1] == args.inputs[in::kX]) {
        call.sums = args.out<float>(outputs.reductions);
        with_sums.run(call);
        return;
    }
    plain.run(call);
    if (a.reductions) sum(s, args);
}

inline PreparedKernel prepare_library_backward(const Signature& signature, SumGradient sum,
                                               std::size_t sum_bytes) {
    const Call s(signature);
    const LibraryBackward calls = library_backward(s);
    const auto plan = [&](const std::optional<ConvolutionSpec>& spec) {
        return spec ? s.device->plan_convolution(*spec) : Planned<ConvolutionArgs>{};
    };
    const Planned<ConvolutionArgs> data = plan(calls.data), with_sums = plan(calls.data_with_sums),
                                   weight = plan(calls.weight);
    std::size_t bytes = std::max({data.workspace_bytes, with_sums.workspace_bytes, sum_bytes});
    if (calls.weight) {
        const ConvolutionSpec& c = *calls.weight;
        const auto narrow_bytes = static_cast<std::size_t>(c.k * c.r * c.s * c.c) * size_of(c.dtype);
        bytes = std::max(bytes, (narrow_bytes + 255) / 256 * 256 + weight.workspace_bytes);
    }
    std::string description = data.description;
    if (with_sums) description += ", sums by " + with_sums.description;
    if (weight) description += (description.empty() ? "" : "; weights ") + weight.description;
    return {[s, calls, data, with_sums, weight, sum](const KernelArgs& args) {
                if (weight) run_library_weight(s, *calls.weight, weight, args);
                if (data) run_library_data(s, data, with_sums, sum, args);
            },
            bytes, description};
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

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

// What the library is asked for: the data gradient; the same with sums over it, of products with the tensor
// that masks it or with any; and the weights' gradient.
struct LibraryBackward {
    std::optional<ConvolutionSpec> data, with_own_sums, with_sums, weight;
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
    if (!a.reductions) return calls;
    calls.with_sums = c;
    calls.with_sums->fusion.references = a.num_references;
    if (a.num_references == 1 && c.fusion.affine) {
        calls.with_own_sums = c;
        calls.with_own_sums->fusion.reductions = true;
    }
    return calls;
}

// Why the library does not do what is asked for in one go; sums afterwards are a node of their own.
inline std::string refusal_of(const LibraryBackward& calls) {
    const auto why = [](const std::optional<ConvolutionSpec>& spec) {
        return spec ? current_device()->plan_convolution(*spec).refusal : std::string();
    };
    for (const auto* spec : {&calls.data, &calls.weight})
        if (std::string no = why(*spec); !no.empty()) return no;
    // A signature does not tell whether the sums are of the tensor that masks; behind a batch norm they are.
    if (calls.with_own_sums && why(calls.with_own_sums).empty()) return {};
    return why(calls.with_sums);
}

inline std::string library_backward_refusal(const Signature& s) {
    namespace in = conv2d_backward_fused_input;
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const std::string why = refusal(s);
    if (!why.empty()) return why;
    // Each would read the gradient anyway: apart, the plan counts what they read.
    if (a.need_data && a.need_weight) return "makes one gradient a call";
    if (a.grad_affine) return "takes no scale and shift of the gradient that comes in";
    if (a.input_relu && !a.input_affine) return "takes an activation only behind a scale";
    for (const int index : {in::kX, in::kW, in::kAddend})
        if (s.has(index) && s.in(index).dtype != s.in(in::kG).dtype) return "needs one type of data";
    if (current_device() == nullptr) return "needs a device";
    return refusal_of(library_backward(s));
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

using SumGradient = void (*)(const Call&, const KernelArgs&);

// The ways to a data gradient, those that there are.
struct LibraryData {
    Planned<ConvolutionArgs> plain, with_own_sums, with_sums;
    SumGradient sum;  // after `plain`, where sums are wanted and neither of the others serves
};

inline void run_library_data(const Call& s, const LibraryData& ways, const KernelArgs& args) {
    namespace in = conv2d_backward_fused_input;
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Conv2dBackwardFusedOutputs outputs = outputs_of(a);
    ConvolutionArgs call{args.inputs[in::kG], args.inputs[in::kW],
                         args.outputs[static_cast<std::size_t>(outputs.grad_x)], args.workspace};
    if (a.add) call.addend = args.inputs[in::kAddend];
    if (a.mask != InputMask::kOff) call.masked = args.inputs[in::kX];
    if (a.mask == InputMask::kInputAffine)
        call.scale = args.in<float>(in::kScale), call.shift = args.in<float>(in::kShift);
    if (a.reductions) call.sums = args.out<float>(outputs.reductions);
    if (ways.with_own_sums && args.inputs[in::kRef1] == args.inputs[in::kX])
        return ways.with_own_sums.run(call);
    if (ways.with_sums) {
        call.references[0] = args.inputs[in::kRef1];
        if (a.num_references == 2) call.references[1] = args.inputs[in::kRef2];
        return ways.with_sums.run(call);
    }
    ways.plain.run(call);
    if (a.reductions) ways.sum(s, args);
}

inline PreparedKernel prepare_library_backward(const Signature& signature, SumGradient sum,
                                               std::size_t sum_bytes) {
    const Call s(signature);
    const LibraryBackward calls = library_backward(s);
    const auto plan = [&](const std::optional<ConvolutionSpec>& spec) {
        return spec ? s.device->plan_convolution(*spec) : Planned<ConvolutionArgs>{};
    };
    LibraryData data{plan(calls.data), plan(calls.with_own_sums), {}, sum};
    if (!data.with_own_sums) data.with_sums = plan(calls.with_sums);
    const Planned<ConvolutionArgs> weight = plan(calls.weight);
    std::size_t bytes = std::max({data.plain.workspace_bytes, data.with_own_sums.workspace_bytes,
                                  data.with_sums.workspace_bytes, sum_bytes});
    if (calls.weight) {
        const ConvolutionSpec& c = *calls.weight;
        const auto narrow_bytes = static_cast<std::size_t>(c.k * c.r * c.s * c.c) * size_of(c.dtype);
        bytes = std::max(bytes, (narrow_bytes + 255) / 256 * 256 + weight.workspace_bytes);
    }
    std::string description = data.plain.description;
    for (const Planned<ConvolutionArgs>* sums : {&data.with_own_sums, &data.with_sums})
        if (*sums) description += ", sums by " + sums->description;
    if (weight) description += (description.empty() ? "" : "; weights ") + weight.description;
    return {[s, calls, data, weight](const KernelArgs& args) {
                if (weight) run_library_weight(s, *calls.weight, weight, args);
                if (data.plain) run_library_data(s, data, args);
            },
            bytes, description};
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

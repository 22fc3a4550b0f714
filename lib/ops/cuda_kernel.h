// What the GPU kernels of the ops share: when they refuse, and how they are registered. For *_cuda.cu files
// only.
#pragma once

#include <string>

#include "backends/cuda/map.h"
#include "core/error.h"
#include "graph/gpu_kernels.h"
#include "graph/op.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

// A signature and the device it was prepared for.
struct Call : Signature {
    Device* device;
    explicit Call(const Signature& s) : Signature(s), device(current_device()) {
        MPT_CHECK(device != nullptr, "a GPU kernel prepared without a device");
    }
};

inline std::string refusal(const Signature& s) {
    for (const auto* types : {&s.inputs, &s.outputs})
        for (const TensorType& type : *types)
            if (type.dtype == DType::f64) return "stores f32, f16 or bf16, not f64";
    return {};
}

// Also: the given inputs share one type.
template <int... indices>
std::string refusal_unless_same(const Signature& s) {
    for (const int index : {indices...})
        if (s.in(index).dtype != s.in(0).dtype) return "needs one type of data";
    return refusal(s);
}

using Body = void (*)(const Call&, const KernelArgs&);
using WorkspaceBytes = std::size_t (*)(const Call&);

inline std::size_t no_workspace(const Call&) {
    return 0;
}

// A kernel that is a function of its signature and arguments; it runs on the signature's device.
template <Body body, WorkspaceBytes workspace = no_workspace>
Kernel kernel(const OpType& op, std::string (*refuses)(const Signature&) = refusal) {
    return {op.name, "cuda", refuses, [](const Signature& signature) {
                const Call call(signature);
                return PreparedKernel{[call](const KernelArgs& args) {
                                          if (call.outputs[0].shape.num_elements() != 0) body(call, args);
                                      },
                                      workspace(call), "cuda"};
            }};
}

inline std::int64_t elements_of(const Signature& s, int output = 0) {
    return s.out(output).shape.num_elements();
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

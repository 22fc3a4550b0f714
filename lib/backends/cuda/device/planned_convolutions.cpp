#include "backends/cuda/planned_convolutions.h"

#include "backends/cuda/device/cudnn_convolution.h"

namespace mpt::gpu {

PlannedConvolutions plan_convolutions(const std::string& device, const std::vector<ConvolutionSpec>& specs) {
    PlannedConvolutions out;
    const std::string version = cudnn_version_text(&out.reason);
    if (version == "none") return out;
    const CudnnTarget target = CudnnTarget::of_json(device);
    for (const ConvolutionSpec& spec : specs) {
        CudnnGraph graph;
        add_convolution(graph, spec);
        PlanWishes wishes;
        wishes.tensor_cores = spec.dtype != DType::f32 || spec.tf32;
        PlannedConvolution& planned = out.plans.emplace_back();
        const std::vector<CudnnPlan> plans = graph.plans(target, wishes, &planned.refusal);
        if (plans.empty()) continue;
        planned.engine = plans.front().description();
        planned.workspace_bytes = plans.front().workspace_bytes;
        planned.tensor_cores = plans.front().tensor_core;
    }
    out.version = version;
    return out;
}

}  // namespace mpt::gpu

// What cuDNN would run convolutions with on a GPU that need not be there; no CUDA headers here.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/device.h"

namespace mpt::gpu {

struct PlannedConvolution {
    std::string engine;  // empty: cuDNN has none, our own kernel runs it
    std::string refusal;
    std::int64_t workspace_bytes = 0;
    bool tensor_cores = false;
};
struct PlannedConvolutions {
    std::string version;  // of cuDNN; empty: it could not be asked, why in `reason`
    std::string reason;
    std::vector<PlannedConvolution> plans;  // one a spec
};

// `device` describes the GPU as cuDNN's device properties do, in JSON.
PlannedConvolutions plan_convolutions(const std::string& device, const std::vector<ConvolutionSpec>& specs);

}  // namespace mpt::gpu

// The one check of the CUDA runtime: a failure says call, code, meaning and advice.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace mpt::gpu {

// Throws Error(kResource) for memory, InternalError for what only a fault of ours can cause, and
// Error(kUsage) for the rest.
void check_cuda(cudaError_t code, const std::string& call);

}  // namespace mpt::gpu

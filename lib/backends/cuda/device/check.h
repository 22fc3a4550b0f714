// The one check of the CUDA runtime: a failure says call, code, meaning and advice.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace mpt::gpu {

// Throws Error(kResource) for memory, InternalError for what only a fault of ours can cause, and
// Error(kUsage) for the rest.
void check_cuda(cudaError_t code, const std::string& call);

// What CUDA says where a library's call has failed; empty: nothing.
std::string pending_cuda_error();
// What to try where a library's algorithm has failed, for the end of a message.
inline constexpr const char* kAdviceOfCalls =
    "; autotune.mode: measure takes only what runs, off the library's first choice";

}  // namespace mpt::gpu

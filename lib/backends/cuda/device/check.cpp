#include "backends/cuda/device/check.h"

#include "core/error.h"

namespace mpt::gpu {

void check_cuda(cudaError_t code, const std::string& call) {
    if (code == cudaSuccess) return;
    const std::string what = call + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
    switch (code) {
        case cudaErrorMemoryAllocation:
            throw Error(ExitCode::kResource, what + "; lower train.batch_size or raise train.accumulate");
        case cudaErrorInsufficientDriver:
        case cudaErrorNoDevice:
        case cudaErrorInvalidDevice:
        case cudaErrorDevicesUnavailable:
        case cudaErrorSystemDriverMismatch:
            throw Error(ExitCode::kUsage, what + "; use --device cpu, or install a driver that fits");
        case cudaErrorNoKernelImageForDevice:
            throw Error(
                ExitCode::kUsage,
                what + "; build for this GPU: cmake --preset release -DMPT_CUDA_ARCHITECTURES=native");
        case cudaErrorECCUncorrectable:
        case cudaErrorHardwareStackError:
            throw Error(ExitCode::kResource, what + "; the GPU is faulty, take another");
        default:
            throw InternalError(what);
    }
}

}  // namespace mpt::gpu

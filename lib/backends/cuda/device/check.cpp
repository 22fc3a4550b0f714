#include "backends/cuda/device/check.h"

#include "backends/cuda/failures.h"

namespace mpt::gpu {

void check_cuda(cudaError_t code, const std::string& call) {
    if (code == cudaSuccess) return;
    const std::string what = call + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
    switch (code) {
        case cudaErrorMemoryAllocation:
            throw OutOfMemory(what);
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
        case cudaErrorLaunchTimeout:
            throw Error(ExitCode::kResource,
                        what + "; the display's watchdog ended a kernel, take a GPU without a display");
        // After these a process has no more of its GPU.
        case cudaErrorIllegalAddress:
        case cudaErrorMisalignedAddress:
        case cudaErrorInvalidAddressSpace:
        case cudaErrorIllegalInstruction:
        case cudaErrorInvalidPc:
        case cudaErrorAssert:
        case cudaErrorLaunchFailure:
            throw InternalError(what +
                                "; a kernel failed and the process has lost its GPU: continue from the last "
                                "checkpoint, and compute-sanitizer names the kernel");
        default:
            throw InternalError(what);
    }
}

std::string pending_cuda_error() {
    const cudaError_t code = cudaPeekAtLastError();
    return code == cudaSuccess ? std::string() : std::string("; CUDA says ") + cudaGetErrorName(code);
}

}  // namespace mpt::gpu

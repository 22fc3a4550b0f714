// A build without the CUDA backend.
#include "backends/cuda/device.h"
#include "backends/cuda/gemm_variants.h"
#include "core/error.h"

namespace mpt::gpu {

bool built_with_cuda() {
    return false;
}

std::string cuda_build_text() {
    return std::string("not built: ") + MPT_CUDA_REASON;
}

DeviceCount count_devices() {
    return {0, std::string("this build has no CUDA backend (") + MPT_CUDA_REASON + ")"};
}

std::unique_ptr<Device> open_device(int index) {
    throw Error(ExitCode::kUsage, "--device cuda:" + std::to_string(index) + ": " + count_devices().reason +
                                      "; use --device cpu or auto");
}

std::vector<GemmVariant> gemm_variants(Device&, std::int64_t, std::int64_t, std::int64_t) {
    return {};
}

}  // namespace mpt::gpu

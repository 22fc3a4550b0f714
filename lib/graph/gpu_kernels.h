// Kernels for NVIDIA GPUs (<folder>_cuda.cu): compiled by nvcc (none in a build without the CUDA toolkit),
// and the same sources compiled for the host twin, which only tests link. They are prepared for the device of
// the gpu::DeviceScope they are asked in.
#pragma once

#include "graph/kernel.h"

namespace mpt {

const KernelTable& cuda_kernels();
const KernelTable& cuda_host_kernels();

}  // namespace mpt

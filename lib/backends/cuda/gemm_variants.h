// Matrix products a GPU can be measured with, for `mpt-train gemm`: through cuBLASLt, through our own kernel
// on Tensor Cores (WMMA), and on plain CUDA cores. All row-major d[m,n] = a[m,k] b[k,n] with f32 sums, fp8
// with b [n,k]. cuBLASLt's algorithm is chosen as the device's settings say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/cuda/device.h"

namespace mpt::gpu {

struct GemmVariant {
    std::string name;       // "cublaslt", "wmma", "cuda cores"
    std::string precision;  // "f16", "bf16", "tf32", "fp32", "fp8"
    ProductSpec spec;
    std::function<void(const ProductArgs&)> run;
    std::size_t workspace_bytes = 0;
    std::string refusal;  // why it does not run; `run` is empty then
};
std::vector<GemmVariant> gemm_variants(Device& device, std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace mpt::gpu

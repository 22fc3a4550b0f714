// Matrix products by cuBLASLt: row-major products are its column-major ones, transposed.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/device/cublaslt_product.h"

namespace mpt::gpu {

class CudaDevice;

// "none" where it cannot be loaded, why in `reason`.
std::string cublaslt_version_text(std::string* reason = nullptr);

class CublasLt {
  public:
    CublasLt();
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    // Refuses work in passing where measuring found the product and a pass behind it faster.
    Planned<ProductArgs> plan(CudaDevice& device, const ProductSpec& spec);

  private:
    std::string choose(CudaDevice& device, const ProductSpec& spec, CublasLtProduct& product) const;
    void take_fastest(CudaDevice& device, const ProductSpec& spec, CublasLtProduct& product) const;
    bool is_faster_apart(CudaDevice& device, const ProductSpec& spec, const CublasLtProduct& product) const;

    CublasLtFunctions functions_;
    cublasLtHandle_t handle_ = nullptr;
};

// y[r, c] += or = narrow(bias) for a bias that the library takes only in the type of the result.
void narrow_bias(Device& device, DType type, std::int64_t count, const float* bias, void* to);

}  // namespace mpt::gpu

// Matrix products by cuBLASLt: row-major products are its column-major ones, transposed.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>

#include "backends/cuda/device.h"
#include "backends/cuda/device/dynamic_library.h"

namespace mpt::gpu {

class CudaDevice;

std::string cublaslt_version_text();  // "none" where it cannot be loaded

class CublasLt {
  public:
    CublasLt();
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    Planned<ProductArgs> plan(CudaDevice& device, const ProductSpec& spec);

  private:
    struct Functions;
    struct Product;
    std::shared_ptr<Product> describe(const ProductSpec& spec) const;
    std::string choose(CudaDevice& device, const ProductSpec& spec, Product& product) const;
    void take_fastest(CudaDevice& device, const ProductSpec& spec, Product& product) const;

    std::unique_ptr<Functions> functions_;
    cublasLtHandle_t handle_ = nullptr;
};

// y[r, c] += or = narrow(bias) for a bias that the library takes only in the type of the result.
void narrow_bias(Device& device, DType type, std::int64_t count, const float* bias, void* to);

}  // namespace mpt::gpu

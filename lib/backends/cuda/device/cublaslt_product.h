// One product of cuBLASLt: its descriptors, filled from a spec. That needs the library, and no GPU.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/device/dynamic_library.h"

namespace mpt::gpu {

const DynamicLibrary& cublaslt_library();
// Throws Error(kResource) for memory, Error(kUsage) where library and GPU do not fit, otherwise CallFailed.
void check_cublas(cublasStatus_t status, const char* call);

// The heuristics also return what they could not make an algorithm of.
void drop_failed(std::vector<cublasLtMatmulHeuristicResult_t>& results);

struct CublasLtFunctions {
#define MPT_LT(name) decltype(&::name) name = cublaslt_library().function<decltype(::name)>(#name)
    MPT_LT(cublasLtCreate);
    MPT_LT(cublasLtDestroy);
    MPT_LT(cublasLtMatmul);
    MPT_LT(cublasLtMatmulAlgoGetHeuristic);
    MPT_LT(cublasLtMatmulDescCreate);
    MPT_LT(cublasLtMatmulDescDestroy);
    MPT_LT(cublasLtMatmulDescSetAttribute);
    MPT_LT(cublasLtMatmulDescGetAttribute);
    MPT_LT(cublasLtMatrixLayoutCreate);
    MPT_LT(cublasLtMatrixLayoutDestroy);
    MPT_LT(cublasLtMatrixLayoutGetAttribute);
    MPT_LT(cublasLtMatmulPreferenceCreate);
    MPT_LT(cublasLtMatmulPreferenceDestroy);
    MPT_LT(cublasLtMatmulPreferenceSetAttribute);
#undef MPT_LT
};

// Why the library has no such product in any version; empty: ask it.
std::string refusal_of(const ProductSpec& spec);
// Whether something is done in passing that a kernel of our own can do behind the product.
bool has_passing_work(const ProductSpec& spec);
// The product without it.
ProductSpec without_passing_work(ProductSpec spec);

struct CublasLtProduct {
    const CublasLtFunctions& f;
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;  // the library's: our b, our a, d
    std::vector<cublasLtMatmulHeuristicResult_t> candidates;
    cublasLtMatmulAlgo_t algo{};
    std::size_t workspace_bytes = 0;
    float beta = 0;
    bool fp8 = false;

    CublasLtProduct(const CublasLtFunctions& functions, const ProductSpec& spec);
    ~CublasLtProduct();
    CublasLtProduct(const CublasLtProduct&) = delete;
    CublasLtProduct& operator=(const CublasLtProduct&) = delete;

    // `bias` is in the type that the library wants it in.
    void run(cublasLtHandle_t handle, const ProductArgs& args, const void* bias, cudaStream_t stream) const;

  private:
    template <typename T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
        check_cublas(f.cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
                     "cublasLtMatmulDescSetAttribute");
    }
    void describe_layouts(const ProductSpec& spec);
    void describe_passing_work(const ProductSpec& spec);
};

}  // namespace mpt::gpu

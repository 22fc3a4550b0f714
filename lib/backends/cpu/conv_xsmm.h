// The one door to libxsmm: batch-reduce micro-kernels, generated for the machine at construction.
//   C[n][m] (+)= sum over i of  A_i[k][m] * B_i[n][k]     (B_i[k][n] when `transpose_b`)
// all row-major with leading dimensions lda, ldb, ldc; A_i and B_i are byte offsets from two base pointers.
#pragma once

#include <cstdint>

namespace mpt::cpu {

struct KernelShape {
    std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
    bool accumulate = false;  // add to C; otherwise C is overwritten
    bool transpose_b = false;
};

class BatchKernel {
  public:
    using Offset = unsigned long long;
    BatchKernel() = default;
    // Throws InternalError when libxsmm has no kernel for the shape.
    explicit BatchKernel(const KernelShape& shape);
    void operator()(const float* a, const float* b, float* c, Offset count, const Offset* a_bytes,
                    const Offset* b_bytes) const {
        function_(a, b, c, &count, a_bytes, b_bytes);
    }

  private:
    using Function = void (*)(const float*, const float*, float*, const Offset*, const Offset*, const Offset*,
                              ...);
    Function function_ = nullptr;
};

// Plain products C[n][m] (+)= A[k][m] * B[n][k] through the same shapes, for Winograd's small matrices.
class ProductKernel {
  public:
    ProductKernel() = default;
    explicit ProductKernel(const KernelShape& shape);
    void operator()(const float* a, const float* b, float* c) const { function_(a, b, c); }

  private:
    using Function = void (*)(const float*, const float*, float*, ...);
    Function function_ = nullptr;
};

}  // namespace mpt::cpu

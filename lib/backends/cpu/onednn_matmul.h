// f32 matrix product by oneDNN: c[m,n] = op(a) op(b), all row-major. With a fixed number of threads results
// are the same bits from run to run. Must be called outside OpenMP parallel regions.
#pragma once

#include <cstdint>

namespace mpt::cpu {

struct MatmulShape {
    std::int64_t m = 0, n = 0, k = 0;
    bool transpose_a = false;  // a is stored [k,m] instead of [m,k]
    bool transpose_b = false;  // b is stored [n,k] instead of [k,n]
};

void matmul(const MatmulShape& shape, const float* a, const float* b, float* c, int num_threads);

}  // namespace mpt::cpu

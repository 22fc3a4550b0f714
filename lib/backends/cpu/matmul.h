// Matrix products of any storage type with sums in f32, and with what stands before and after them taken in:
//   c[m,n] = through(activate(a)[m,k] activate(b)[k,n] + bias[n], x[m,n])        or c += the product
// Operands are packed into f32 panels for the nearest caches, so that narrow ones are read once and widened
// on the way, and an activation is computed where its input is read. A sum over k has the same order whatever
// the number of threads. Blocks after Goto & van de Geijn, doi:10.1145/1356052.1356053.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/pointwise.h"

namespace mpt::cpu {

struct MatmulOperand {
    DType dtype = DType::f32;
    bool transposed = false;  // a is stored [k,m] instead of [m,k], b [n,k] instead of [k,n]
    Pointwise activation = Pointwise::kIdentity;
};

struct MatmulSpec {
    std::int64_t m = 0, n = 0, k = 0;
    MatmulOperand a = {}, b = {};
    DType c = DType::f32;
    bool accumulate = false;                           // c, which is f32, is added to
    bool bias = false;                                 // not with accumulate
    Pointwise derivative_at_x = Pointwise::kIdentity;  // times the derivative at x, of the type of c
};

struct MatmulArgs {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    const float* bias = nullptr;
    const void* x = nullptr;
    void* workspace = nullptr;  // 64-byte aligned
};

// What computes it, for the precision audit: "f32 avx512, operands widened".
std::string matmul_description(const MatmulSpec& spec);
std::size_t matmul_workspace_bytes(const MatmulSpec& spec, int num_threads);
// Needs AVX2, FMA and F16C (instruction_set.h).
void matmul(const MatmulSpec& spec, const MatmulArgs& args, int num_threads);

}  // namespace mpt::cpu

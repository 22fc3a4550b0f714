// linear_fp8: (a[M,K], b[N,K], inverse scales of a and of b, f32 [], bias? f32 [N]) -> a b^T times both
// inverse scales + bias, [M,N] in `result`; a and b are e4m3, or a is e5m2 (a gradient). Sums are f32. All
// three products of a linear layer have this form, with transposed copies where they need them:
//   y = x w^T,  grad_x = grad_y (w^T)^T,  grad_w = grad_y^T (x^T)^T
// linear_fp8_accumulate: (buffer f32, a, b, inverse scales) -> buffer + the product, in the memory of buffer.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct LinearFp8Attributes {
    DType result = DType::bf16;
    bool operator==(const LinearFp8Attributes&) const = default;
};
std::string print(const LinearFp8Attributes& attributes);

extern const OpType linear_fp8_op;
extern const OpType linear_fp8_accumulate_op;

// linear_fp8 whose only reader adds it to a buffer -> linear_fp8_accumulate
extern const Rewrite linear_fp8_takes_accumulate;

}  // namespace mpt

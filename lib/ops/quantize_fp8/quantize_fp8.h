// quantize_fp8: (x[M,N], state f32 [2 + history]) -> (state', inverse_scale f32 [], rows? [M,N], columns?
// [N, M up to a multiple of 16, zeros behind]): x times a power of two, rounded to e4m3 or e5m2 and
// saturated, as it lies and transposed. The scale comes from what earlier uses were (scaling_rule.h): delayed
// scaling, after Micikevicius et al., arXiv:2209.05433. Products times the inverse scales are those of x.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct QuantizeFp8Attributes {
    DType format = DType::e4m3;
    bool rows = true, columns = false;
    int margin = 0;  // the scale is lowered by so many powers of two
    bool operator==(const QuantizeFp8Attributes&) const = default;
};
std::string print(const QuantizeFp8Attributes& attributes);

extern const OpType quantize_fp8_op;

// Rows of a transposed copy are as long as cuBLASLt wants the dimension that is summed over.
constexpr std::int64_t padded_to_16(std::int64_t rows) {
    return (rows + 15) / 16 * 16;
}

// Output of the copy that is asked for.
constexpr int rows_output(const QuantizeFp8Attributes&) {
    return 2;
}
constexpr int columns_output(const QuantizeFp8Attributes& a) {
    return a.rows ? 3 : 2;
}

}  // namespace mpt

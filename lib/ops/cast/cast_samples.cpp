#include <limits>

#include "ops/cast/cast.h"
#include "ops/samples.h"

namespace mpt {

void register_cast_samples(SampleTable& table) {
    for (const DType to : {DType::f64, DType::f32, DType::f16, DType::bf16})
        for (const Shape& shape : {Shape{1}, Shape{31}, Shape{4, 1000}}) {
            Sample sample{to_string(shape), &cast_op, CastAttributes{to}, {{shape, -300, 300}}};
            sample.check_gradient = to == DType::f64;  // a rounding has no derivative
            table.add(sample);
        }
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
        // Ties, overflow, f16 subnormals, signed zero and what is not a number.
        const std::vector<double> edges = {65504, 65519,  65520, 1e30,    -65520, 6e-8, 2.9e-8,
                                           3e-8,  -0.0,   2049,  2051,    257,    259,  kInf,
                                           -kInf, 6.1e-5, 1e-40, 6.09e-5, 1.0005, -1e-7};
        Sample sample{"edges", &cast_op, CastAttributes{to}, {{{20}}}};
        sample.inputs[0].values = edges;
        sample.inputs[0].values[19] = std::numeric_limits<double>::quiet_NaN();
        sample.check_gradient = false;
        table.add(sample);
    }
}

}  // namespace mpt

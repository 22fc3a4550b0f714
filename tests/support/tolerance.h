// How far a kernel may be from an f64 reference: a function of the stored type and of how many terms a result
// sums.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/dtype.h"

namespace mpt::test {

// Half the distance between neighbours at 1: the error of one rounding.
inline double rounding_error(DType type) {
    switch (type) {
        case DType::f64:
            return 0x1p-53;
        case DType::f32:
            return 0x1p-24;
        case DType::f16:
            return 0x1p-11;
        case DType::bf16:
            return 0x1p-8;
        default:
            return 0;
    }
}

// Least positive number, where f16 loses its relative precision.
inline double least_positive(DType type) {
    return type == DType::f16 ? 0x1p-24 : type == DType::f64 ? 0x1p-1022 : 0x1p-126;
}

// |got - expected| <= tolerance(...) where `scale` is the greatest magnitude of the expected tensor. One
// rounding to the stored type, and f32 (f64 for f64) sums whose error grows as the square root of the number
// of terms.
inline double tolerance(DType stored, double expected, double scale, std::int64_t reduction_length,
                        double factor = 1) {
    const double sums = rounding_error(stored == DType::f64 ? DType::f64 : DType::f32) *
                        (8 + 2 * std::sqrt(static_cast<double>(reduction_length)));
    return factor * (1.01 * rounding_error(stored) * std::abs(expected) + sums * scale) +
           least_positive(stored);
}

}  // namespace mpt::test

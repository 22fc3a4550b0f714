// Activations and their slopes in f64, for reference kernels.
#pragma once

#include <cmath>
#include <numbers>

#include "core/pointwise.h"

namespace mpt::reference {

struct ValueAndSlope {
    double y, slope;
};

inline ValueAndSlope activation(Pointwise kind, double x) {
    switch (kind) {
        case Pointwise::kIdentity:
            return {x, 1};
        case Pointwise::kRelu:
            return {x < 0 ? 0 : x, x > 0 ? 1.0 : 0.0};
        case Pointwise::kGeluExact: {
            const double phi = std::erfc(-x / std::numbers::sqrt2) / 2;
            const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
            return {x * phi, phi + x * density};
        }
        case Pointwise::kGeluTanh: {
            constexpr double kCubic = 0.044715;
            const double scale = std::sqrt(2 / std::numbers::pi);
            const double t = std::tanh(scale * (x + kCubic * x * x * x));
            return {x / 2 * (1 + t), (1 + t) / 2 + x / 2 * (1 - t * t) * scale * (1 + 3 * kCubic * x * x)};
        }
        case Pointwise::kSilu: {
            const double p = 1 / (1 + std::exp(-x));
            return {x * p, p + x * p * (1 - p)};
        }
    }
    return {};
}

}  // namespace mpt::reference

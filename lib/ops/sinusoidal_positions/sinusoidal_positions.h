// sinusoidal_positions: (x[B,T,C], position? i32 [B]) -> y = scale * x + P, the fixed positions of Vaswani et
// al. (2017), section 3.5: row t of sequence b stands at p = position[b] + t (t without `position`), and
//   P[2 i] = sin(p base^(-2 i / C)), P[2 i + 1] = cos of the same; C is even.
// The scale is that of the embeddings, sqrt(C) in the paper.
// sinusoidal_positions_backward: grad_y -> scale * grad_y.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace mpt {

struct SinusoidalPositionsAttributes {
    double scale = 1;
    double base = 10000;
    bool operator==(const SinusoidalPositionsAttributes&) const = default;
};
std::string print(const SinusoidalPositionsAttributes& attributes);

extern const OpType sinusoidal_positions_op;
extern const OpType sinusoidal_positions_backward_op;

ValueId sinusoidal_positions(GraphBuilder& builder, ValueId x, ValueId position = kNone,
                             SinusoidalPositionsAttributes attributes = {},
                             const std::string& name = "sinusoidal_positions");
ValueId sinusoidal_positions_backward(GraphBuilder& builder, ValueId grad_y,
                                      SinusoidalPositionsAttributes attributes,
                                      const std::string& name = "sinusoidal_positions.backward");

// base^(-2 i / C), by which a position is multiplied to give the angle of pair i.
double sinusoid_frequency(const SinusoidalPositionsAttributes& attributes, std::int64_t pair,
                          std::int64_t width);

}  // namespace mpt

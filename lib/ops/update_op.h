// What the optimizer ops share: inputs, outputs and types of an update of whole flat regions.
//
//   x_update(master[E], gradient[E] f32, moment1[E] f32?, moment2[E] f32?, narrow[E]?, control) ->
//       master', gradient', moment1'?, moment2'?, narrow'?        each in the memory of its input
//
// master is f32, or f16/bf16 in a run without f32 masters; narrow is a copy of the new master, rounded to
// nearest even. The gradient is multiplied by control.gradient_factor as it is read and left zero. With
// control.skip only the gradient changes (to zero). An output of an absent input has the shape [0].
//
// What is stored stays finite: a master or moment that would overflow becomes the largest finite value of its
// type. That hides no divergence, as the narrow copy and the next gradients still overflow, but a checkpoint
// taken then is whole.
#pragma once

#include <algorithm>
#include <cfloat>
#include <span>
#include <vector>

#include "graph/kernel.h"
#include "graph/op.h"
#include "optim/step_control.h"

namespace mpt {

// Input (and output) indices; kNone where an op has no such input at all.
struct UpdateSlots {
    int master = 0;
    int gradient = 1;
    int moment1 = 2;
    int moment2 = kNone;
    int narrow = 3;
    int control = 4;
};
inline constexpr UpdateSlots kOneMoment = {};
inline constexpr UpdateSlots kTwoMoments = {0, 1, 2, 3, 4, 5};

constexpr float largest_finite(DType dtype) {
    if (dtype == DType::f16) return 65504;
    return dtype == DType::bf16 ? 0x1.fep127f : FLT_MAX;
}
inline float saturated(float x) {
    return std::min(std::max(x, -FLT_MAX), FLT_MAX);
}
// A scalar of an update worked out in f64, as a finite f32.
inline float finite_f32(double x) {
    constexpr double kLargest = FLT_MAX;
    return static_cast<float>(std::min(std::max(x, -kLargest), kLargest));
}

TensorType control_type();  // u8[sizeof(StepControl)]

// Checks the inputs and returns the outputs' types.
std::vector<TensorType> infer_update(const UpdateSlots& slots, std::span<const TensorType> inputs);

// Every output in the memory of the input of the same index.
std::vector<Alias> update_aliases(const UpdateSlots& slots);

}  // namespace mpt

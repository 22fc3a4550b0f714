// What fills the memory that calls are timed on. Zeros would be faster than data: hardly a bit of the
// multipliers changes then, so that clocks stay high, and sums of lengths 0 end at once.
#pragma once

#include <optional>

#include "backends/cuda/device.h"

namespace mpt::gpu {

struct ScratchValues {
    DType type = DType::f32;
    std::optional<float> everywhere = {};  // none: numbers spread evenly over [-1, 1]
};
// Whole elements of `bytes`; the rest stays as it is.
void fill_scratch(Device& device, std::byte* to, std::size_t bytes, const ScratchValues& values);

}  // namespace mpt::gpu

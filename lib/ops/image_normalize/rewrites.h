#pragma once

#include "graph/op.h"

namespace mpt {

// cast(image_normalize(images)) -> image_normalize(images) that writes the cast's type
extern const Rewrite image_normalize_takes_cast;
// conv2d(image_normalize(images), w) and its weights' gradient, of f16 or bf16 -> the same over channels that
// are padded to 4 or 8, where the backend has kernels for it. Files and the optimizer know nothing of it.
extern const Rewrite image_normalize_pads_channels;

}  // namespace mpt

#pragma once

#include "graph/op.h"

namespace mpt {

// cast(image_normalize(images)) -> image_normalize(images) that writes the cast's type
extern const Rewrite image_normalize_takes_cast;

}  // namespace mpt

#pragma once

#include "graph/op.h"

namespace mpt {

// accumulate(buffer, add(a, b)) -> accumulate(accumulate(buffer, a), b): of a parameter that is used twice,
// each gradient goes to the buffer by itself, and may be computed there.
extern const Rewrite accumulate_splits_sum;

}  // namespace mpt

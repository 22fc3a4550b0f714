#pragma once

#include "graph/op.h"

namespace mpt {

// accumulate(buffer, embedding_backward(...)) -> embedding_backward_accumulate(buffer, ...)
extern const Rewrite embedding_backward_takes_accumulate;

}  // namespace mpt

#pragma once

#include "graph/kernel.h"

namespace mpt {

// The fast CPU kernel of attention_backward (attention_backward_cpu.cpp).
PreparedKernel attention_backward_prepare(const Signature& signature);

}  // namespace mpt

// Element-wise functions that products may take in: of an operand as it is read, or their derivatives.
#pragma once

#include <cstdint>

namespace mpt {

enum class Pointwise : std::uint8_t { kIdentity, kRelu, kGeluExact, kGeluTanh, kSilu };
constexpr const char* name_of(Pointwise activation) {
    constexpr const char* kNames[] = {"identity", "relu", "gelu", "gelu_tanh", "silu"};
    return kNames[static_cast<int>(activation)];
}

}  // namespace mpt

// gelu (Hendrycks & Gimpel 2016), any shape; f32 or wider arithmetic whatever the type of x.
//   exact: y = x Phi(x), Phi the normal distribution function
//   tanh:  y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as in GPT-2
// gelu_backward: (grad_y, x) -> grad_x.
#pragma once

#include <cstdint>

#include "core/pointwise.h"
#include "graph/builder.h"

namespace mpt {

enum class GeluForm : std::uint8_t { kExact, kTanh };
constexpr Pointwise activation_of(GeluForm form) {
    return form == GeluForm::kExact ? Pointwise::kGeluExact : Pointwise::kGeluTanh;
}

struct GeluAttributes {
    GeluForm form = GeluForm::kExact;
    bool operator==(const GeluAttributes&) const = default;
};
std::string print(const GeluAttributes& attributes);

extern const OpType gelu_op;
extern const OpType gelu_backward_op;

ValueId gelu(GraphBuilder& builder, ValueId x, GeluAttributes attributes = {},
             const std::string& name = "gelu");
ValueId gelu_backward(GraphBuilder& builder, ValueId grad_y, ValueId x, GeluAttributes attributes = {},
                      const std::string& name = "gelu.backward");

}  // namespace mpt

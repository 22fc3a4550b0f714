// add_rows: (x[B,T,C], table[P,C]) -> x + the first T rows of the table, the same for each of the B: learned
// or fixed positions. P >= T.
// add_rows_backward: grad_y[B,T,C] -> grad_table[P,C], f32 whatever the type of the data: the sum over B,
// zero in rows from T on. The gradient of x is grad_y itself.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace mpt {

struct AddRowsBackwardAttributes {
    std::int64_t num_rows = 0;  // P
    bool operator==(const AddRowsBackwardAttributes&) const = default;
};
std::string print(const AddRowsBackwardAttributes& attributes);

extern const OpType add_rows_op;
extern const OpType add_rows_backward_op;

ValueId add_rows(GraphBuilder& builder, ValueId x, ValueId table, const std::string& name = "add_rows");
ValueId add_rows_backward(GraphBuilder& builder, ValueId grad_y, AddRowsBackwardAttributes attributes,
                          const std::string& name = "add_rows.backward");

}  // namespace mpt

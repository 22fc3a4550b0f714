// embedding: (ids i32 [...], table [V,C]) -> y [...,C], the rows of the table that the ids name; zero rows
// for `padding_id`. Narrow class: mixed precision reads the narrow copy of the table.
// embedding_backward: (grad_y [...,C], ids) -> grad_table [V,C], f32 whatever the type of the data; a row's
// terms are added in the order of tokens, so that no bit depends on the threads. Padding adds nothing.
// An id outside the table is an InternalError: the data is checked where it is read.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace mpt {

struct EmbeddingAttributes {
    std::int64_t padding_id = -1;  // of zero rows without gradient; -1: none
    bool operator==(const EmbeddingAttributes&) const = default;
};
struct EmbeddingBackwardAttributes {
    std::int64_t num_rows = 0;  // V
    std::int64_t padding_id = -1;
    bool operator==(const EmbeddingBackwardAttributes&) const = default;
};
std::string print(const EmbeddingAttributes& attributes);
std::string print(const EmbeddingBackwardAttributes& attributes);

extern const OpType embedding_op;
extern const OpType embedding_backward_op;
extern const OpType embedding_backward_accumulate_op;

ValueId embedding(GraphBuilder& builder, ValueId ids, ValueId table, EmbeddingAttributes attributes = {},
                  const std::string& name = "embedding");
ValueId embedding_backward(GraphBuilder& builder, ValueId grad_y, ValueId ids,
                           EmbeddingBackwardAttributes attributes,
                           const std::string& name = "embedding.backward");

}  // namespace mpt

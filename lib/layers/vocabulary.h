// Tables over a vocabulary: rows for tokens in, columns of logits out.
#pragma once

#include <cstdint>
#include <string>

#include "graph/builder.h"

namespace mpt {

// Rows in memory of a vocabulary's table: a multiple of 64, from 16,384 on of 128 (the sizes that matrix
// products like). The padded rows are zero and in no file; the loss must be told the true size.
std::int64_t padded_vocabulary(std::int64_t vocabulary);

// Parameter <name>.weight [padded V, C].
ValueId vocabulary_table(GraphBuilder& builder, std::int64_t vocabulary, std::int64_t width, Initializer init,
                         const std::string& name);

}  // namespace mpt

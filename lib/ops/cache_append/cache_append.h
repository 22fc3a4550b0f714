// cache_append: (cache [B,Tmax,P,H,D], new [B,t,P,H,D], position i32 [B]) -> cache', in the memory of cache:
// row position[b] + i of batch b becomes row i of new. For decoding, P = 2: keys and values. The cache keeps
// its type, new is rounded to it. A row that does not fit is an error.
#pragma once

#include "graph/builder.h"

namespace mpt {

extern const OpType cache_append_op;

ValueId cache_append(GraphBuilder& builder, ValueId cache, ValueId rows, ValueId position,
                     const std::string& name = "cache_append");

// Throws unless rows [position, position + count) are within `capacity`.
void check_cache_rows(std::int64_t position, std::int64_t count, std::int64_t capacity);

}  // namespace mpt

// token_positions: position i32 [B] -> positions i32 [B,t], those of the t tokens from `position` on, and
// lengths i32 [B]: how long the sequences are with them. For decoding against caches.
#pragma once

#include <cstdint>

#include "graph/builder.h"

namespace mpt {

struct TokenPositionsAttributes {
    std::int64_t tokens = 1;  // t
    bool operator==(const TokenPositionsAttributes&) const = default;
};
std::string print(const TokenPositionsAttributes& attributes);

extern const OpType token_positions_op;

struct TokenPositionsOutputs {
    ValueId positions, lengths;
};
TokenPositionsOutputs token_positions(GraphBuilder& builder, ValueId position,
                                      TokenPositionsAttributes attributes,
                                      const std::string& name = "token_positions");

}  // namespace mpt

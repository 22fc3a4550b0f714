#include "ops/samples.h"
#include "ops/token_positions/token_positions.h"

namespace mpt {

void register_token_positions_samples(SampleTable& table) {
    for (const std::int64_t tokens : {1, 7})
        table.add({"[3]",
                   &token_positions_op,
                   TokenPositionsAttributes{tokens},
                   {{{3}, 0, 500, SampleInput::Kind::kIndices}}});
}

}  // namespace mpt

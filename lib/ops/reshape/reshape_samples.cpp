#include "ops/reshape/reshape.h"
#include "ops/samples.h"

namespace mpt {

void register_reshape_samples(SampleTable& table) {
    table.add({"[6x4]", &reshape_op, ReshapeAttributes{{2, 3, 2, 2}}, {{{6, 4}}}});
    table.add({"[1]", &reshape_op, ReshapeAttributes{{}}, {{{1}}}});
    table.add({"[2x3x4x5]", &reshape_op, ReshapeAttributes{{6, 20}}, {{{2, 3, 4, 5}}}});
    table.add({"[70x1001]", &reshape_op, ReshapeAttributes{{70070}}, {{{70, 1001}}}});
}

}  // namespace mpt

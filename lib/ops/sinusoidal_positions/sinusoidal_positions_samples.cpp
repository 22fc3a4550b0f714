#include "ops/samples.h"
#include "ops/sinusoidal_positions/sinusoidal_positions.h"

namespace mpt {

void register_sinusoidal_positions_samples(SampleTable& table) {
    const SampleInput absent{{}, 0, 0, SampleInput::Kind::kAbsent};
    for (const Shape& x : {Shape{1, 1, 2}, Shape{3, 5, 6}, Shape{2, 33, 64}}) {
        const SinusoidalPositionsAttributes attributes{2.5};
        const SampleInput position{{x[0]}, 0, 300, SampleInput::Kind::kIndices};
        table.add({to_string(x), &sinusoidal_positions_op, attributes, {{x}, absent}});
        table.add({to_string(x) + " from anywhere", &sinusoidal_positions_op, attributes, {{x}, position}});
        table.add({to_string(x), &sinusoidal_positions_backward_op, attributes, {{x}}});
    }
}

}  // namespace mpt

#include "ops/max_pool/max_pool.h"
#include "ops/samples.h"

namespace mpt {

void register_max_pool_samples(SampleTable& table) {
    struct Case {
        Shape x;
        MaxPoolAttributes attributes;
        double first_place, last_place;  // places in the window that lie in the image for every window
    };
    const std::vector<Case> cases = {
        {{1, 2, 2, 1}, {2, 2, 0}, 0, 3},   {{2, 6, 8, 5}, {2, 2, 0}, 0, 3},  {{2, 7, 9, 16}, {3, 2, 0}, 0, 8},
        {{2, 8, 8, 33}, {3, 2, 1}, 4, 5},  {{3, 8, 6, 64}, {3, 2, 1}, 4, 5}, {{1, 5, 5, 8}, {3, 1, 1}, 4, 4},
        {{2, 11, 13, 3}, {5, 3, 1}, 6, 7},
    };
    for (const auto& [x, a, first, last] : cases) {
        const Sample forward{to_string(x), &max_pool_op, a, {{x}}};
        table.add(forward);
        Sample affine = forward;
        MaxPoolAttributes activated = a;
        activated.affine = activated.relu = true;
        affine.attributes = activated;
        affine.inputs = {
            {x}, {{x[3]}, -2, 2, SampleInput::Kind::kWide}, {{x[3]}, -0.5, 1, SampleInput::Kind::kWide}};
        affine.check_gradient = false;  // the pass that differentiates is before the one that makes it
        table.add(affine);
        const Shape y = max_pool_op.infer(a, std::vector<TensorType>{{x, DType::f32}})[0].shape;
        SampleInput index{y, first, last};
        index.kind = SampleInput::Kind::kBytes;
        Sample backward{to_string(x),
                        &max_pool_backward_op,
                        MaxPoolBackwardAttributes{a.window, a.stride, a.pad, x[1], x[2]},
                        {{y}, index}};
        backward.reduction_length = a.window * a.window;
        table.add(backward);
    }
}

}  // namespace mpt

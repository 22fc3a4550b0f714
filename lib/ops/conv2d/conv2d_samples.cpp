#include "ops/conv2d/conv2d.h"
#include "ops/samples.h"

namespace mpt {

namespace {

void add_case(SampleTable& table, const Shape& x, const Shape& w, Conv2dAttributes a) {
    const std::string name = to_string(x) + "*" + to_string(w);
    const Shape y = conv2d_op.infer(a, std::vector<TensorType>{{x, DType::f32}, {w, DType::f32}})[0].shape;
    Sample forward{name, &conv2d_op, a, {{x}, {w}}};
    forward.reduction_length = w[1] * w[2] * w[3];
    table.add(forward);
    Sample data{name,
                &conv2d_backward_data_op,
                Conv2dBackwardDataAttributes{a.stride, a.pad, x[1], x[2]},
                {{y}, {w}}};
    data.reduction_length = w[0] * w[1] * w[2];
    table.add(data);
    Sample weight{name,
                  &conv2d_backward_weight_op,
                  Conv2dBackwardWeightAttributes{a.stride, a.pad, w[1], w[2]},
                  {{y}, {x}}};
    weight.reduction_length = y[0] * y[1] * y[2];
    table.add(weight);
}

}  // namespace

void register_conv2d_samples(SampleTable& table) {
    add_case(table, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 0});
    add_case(table, {2, 5, 7, 3}, {5, 3, 3, 3}, {1, 1});
    add_case(table, {2, 8, 8, 16}, {32, 3, 3, 16}, {1, 1});
    add_case(table, {2, 9, 9, 16}, {16, 3, 3, 16}, {2, 1});
    add_case(table, {3, 8, 8, 32}, {64, 1, 1, 32}, {1, 0});
    add_case(table, {2, 8, 8, 64}, {32, 1, 1, 64}, {2, 0});
    add_case(table, {2, 15, 15, 3}, {64, 7, 7, 3}, {2, 3});
    add_case(table, {2, 12, 12, 1}, {16, 5, 5, 1}, {1, 0});
    add_case(table, {3, 7, 7, 32}, {32, 3, 3, 32}, {1, 1});
    add_case(table, {1, 6, 6, 24}, {40, 3, 3, 24}, {1, 1});
}

}  // namespace mpt

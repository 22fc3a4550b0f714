#include "ops/linear/linear.h"
#include "ops/samples.h"

namespace mpt {

namespace {

struct Extent {
    std::int64_t rows, in, out;
};

void add_case(SampleTable& table, const Extent& e, Pointwise activation) {
    const LinearAttributes attributes{activation};
    const std::string name = to_string(Shape{e.rows, e.in, e.out});
    const Shape x{e.rows, e.in}, y{e.rows, e.out}, w{e.out, e.in};
    // Away from where relu has no slope.
    const SampleInput input = activation == Pointwise::kRelu ? SampleInput{x, 0.1, 2} : SampleInput{x, -2, 2};
    Sample forward{name, &linear_op, attributes, {input, {w}, {{e.out}, -1, 1, SampleInput::Kind::kWide}}};
    forward.reduction_length = e.in;
    if (activation != Pointwise::kIdentity) forward.sums_rounded = {0};
    forward.check_gradient = e.rows * e.in * e.out < 100000;
    table.add(forward);
    forward.name += " no bias";
    forward.inputs[2].kind = SampleInput::Kind::kAbsent;
    table.add(forward);
    Sample data{name, &linear_backward_data_op, attributes, {{y}, {w}}};
    if (activation != Pointwise::kIdentity) data.inputs.push_back({x, -2, 2});
    data.reduction_length = e.out;
    table.add(data);
    Sample weight{name, &linear_backward_weight_op, attributes, {{y}, {x, -2, 2}}};
    weight.reduction_length = e.rows;
    weight.sums_rounded = forward.sums_rounded;
    table.add(weight);
    Sample accumulated{name,
                       &linear_backward_weight_accumulate_op,
                       attributes,
                       {{w, -1, 1, SampleInput::Kind::kWide}, {y}, {x, -2, 2}}};
    accumulated.reduction_length = e.rows;
    accumulated.sums_rounded = forward.sums_rounded;
    table.add(accumulated);
    if (activation != Pointwise::kIdentity) return;
    accumulated.op = &linear_backward_weight_bias_accumulate_op;
    table.add(accumulated);
}

}  // namespace

void register_linear_samples(SampleTable& table) {
    // Some with partial tiles at both edges, and with more than one block of the sum.
    for (const Extent& extent : {Extent{1, 1, 1}, Extent{4, 8, 3}, Extent{1, 77, 1001}, Extent{2, 40, 9},
                                 Extent{3, 33, 6}, Extent{33, 70, 17}, Extent{32, 256, 100},
                                 Extent{67, 1100, 40}, Extent{15, 41, 1100}, Extent{1050, 9, 31}})
        for (const Pointwise activation : {Pointwise::kIdentity, Pointwise::kGeluTanh})
            add_case(table, extent, activation);
    for (const Pointwise activation : {Pointwise::kRelu, Pointwise::kGeluExact, Pointwise::kSilu})
        add_case(table, {20, 37, 35}, activation);
}

}  // namespace mpt

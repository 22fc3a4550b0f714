#include "ops/linear/linear.h"
#include "ops/samples.h"

namespace mpt {

void register_linear_samples(SampleTable& table) {
    struct Extent {
        std::int64_t rows, in, out;
    };
    for (const auto& [rows, in, out] :
         {Extent{1, 1, 1}, Extent{4, 8, 3}, Extent{33, 70, 17}, Extent{32, 256, 100}}) {
        const std::string name = to_string(Shape{rows, in, out});
        SampleInput bias{{out}};
        bias.kind = SampleInput::Kind::kWide;
        Sample forward{name, &linear_op, {}, {{{rows, in}}, {{out, in}}, bias}};
        forward.reduction_length = in;
        table.add(forward);
        forward.name += " no bias";
        forward.inputs[2].kind = SampleInput::Kind::kAbsent;
        table.add(forward);
        Sample data{name, &linear_backward_data_op, {}, {{{rows, out}}, {{out, in}}}};
        data.reduction_length = out;
        table.add(data);
        Sample weight{name, &linear_backward_weight_op, {}, {{{rows, out}}, {{rows, in}}}};
        weight.reduction_length = rows;
        table.add(weight);
    }
}

}  // namespace mpt

#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/samples.h"

namespace mpt {

namespace {

struct Extent {
    std::int64_t batch, queries, keys, heads, size;
};

// Lengths of a batch: all keys, then half of them, then none.
SampleInput lengths_of(const Extent& e) {
    SampleInput lengths{{e.batch}, 0, 0, SampleInput::Kind::kIndices};
    for (std::int64_t b = 0; b < e.batch; ++b)
        lengths.values.push_back(static_cast<double>(b % 3 == 0 ? e.keys : b % 3 == 1 ? e.keys / 2 : 0));
    return lengths;
}

void add_case(SampleTable& table, const Extent& e, const AttentionAttributes& attributes, bool padded) {
    const Shape q{e.batch, e.queries, e.heads, e.size}, k{e.batch, e.keys, e.heads, e.size};
    const SampleInput lengths = padded ? lengths_of(e) : SampleInput{{}, 0, 0, SampleInput::Kind::kAbsent};
    const std::string name = to_string(q) + " keys " + std::to_string(e.keys) + (padded ? " padded" : "");
    SampleInput step{{}, 0, 0, SampleInput::Kind::kAbsent};
    if (attributes.dropout.probability > 0) {
        step.kind = SampleInput::Kind::kIndices;
        step.values = {77};
    }
    Sample forward{name, &attention_op, attributes, {{q, -3, 3}, {k, -3, 3}, {k}, lengths, step}};
    forward.reduction_length = std::max({e.queries, e.keys, e.size});
    forward.tolerance_factor = 4;  // an exponential carries the error of its argument, a sum of D products
    forward.check_gradient = q.num_elements() * e.keys < 20000;
    table.add(forward);
    const SampleInput logsumexp{{e.batch, e.heads, e.queries}, 2, 4, SampleInput::Kind::kWide};
    Sample backward{name,
                    &attention_backward_op,
                    attributes,
                    {{q}, {q, -2, 2}, {k, -2, 2}, {k}, {q}, logsumexp, lengths, step}};
    backward.reduction_length = forward.reduction_length;
    backward.tolerance_factor = 4;
    table.add(backward);
}

}  // namespace

void register_attention_samples(SampleTable& table) {
    for (const Extent& extent :
         {Extent{1, 1, 1, 1, 1}, Extent{3, 5, 5, 2, 8}, Extent{3, 7, 10, 1, 5}, Extent{1, 9, 4, 2, 16},
          Extent{2, 70, 70, 2, 16}, Extent{3, 30, 150, 1, 33}, Extent{1, 131, 67, 1, 64}})
        for (const bool causal : {false, true})
            for (const bool padded : {false, true})
                for (const double probability : {0.0, 0.2})
                    add_case(table, extent, {causal, {probability, 99, 4}}, padded);
}

}  // namespace mpt

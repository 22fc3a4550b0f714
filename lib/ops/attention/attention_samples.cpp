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

struct Packed {
    const OpType *forward, *backward;
    std::vector<Shape> data;
};

// The ops whose packing fits these sizes.
std::vector<Packed> packings(const Extent& e) {
    const Shape q{e.batch, e.queries, e.heads, e.size}, k{e.batch, e.keys, e.heads, e.size};
    std::vector<Packed> all = {
        {&attention_op, &attention_backward_op, {q, k, k}},
        {&cross_attention_op, &cross_attention_backward_op, {q, {e.batch, e.keys, 2, e.heads, e.size}}}};
    if (e.queries == e.keys)
        all.push_back(
            {&qkv_attention_op, &qkv_attention_backward_op, {{e.batch, e.keys, 3, e.heads, e.size}}});
    return all;
}

void add_case(SampleTable& table, const Extent& e, const AttentionAttributes& attributes, bool padded) {
    const Shape o{e.batch, e.queries, e.heads, e.size};
    const SampleInput absent{{}, 0, 0, SampleInput::Kind::kAbsent};
    const SampleInput lengths = padded ? lengths_of(e) : absent;
    const std::string name = to_string(o) + " keys " + std::to_string(e.keys) + (padded ? " padded" : "");
    SampleInput step = absent;
    if (attributes.dropout.probability > 0) {
        step.kind = SampleInput::Kind::kIndices;
        step.values = {77};
    }
    const SampleInput logsumexp{{e.batch, e.heads, e.queries}, 2, 4, SampleInput::Kind::kWide};
    for (const Packed& packed : packings(e)) {
        Sample forward{name, packed.forward, attributes, {}};
        Sample backward{name, packed.backward, attributes, {{o}}};
        for (const Shape& shape : packed.data) {
            forward.inputs.push_back({shape, -2, 2});
            backward.inputs.push_back({shape, -2, 2});
        }
        forward.inputs.insert(forward.inputs.end(), {lengths, step});
        backward.inputs.insert(backward.inputs.end(), {{o}, logsumexp, lengths, step});
        forward.reduction_length = backward.reduction_length = std::max({e.queries, e.keys, e.size});
        // An exponential carries the error of its argument, a sum of D products.
        forward.tolerance_factor = backward.tolerance_factor = 4;
        forward.check_gradient = o.num_elements() * e.keys < 20000;
        table.add(forward);
        table.add(backward);
    }
}

}  // namespace

void register_attention_samples(SampleTable& table) {
    for (const Extent& extent :
         {Extent{1, 1, 1, 1, 1}, Extent{3, 5, 5, 2, 8}, Extent{3, 7, 10, 1, 5}, Extent{1, 9, 4, 2, 16},
          Extent{2, 70, 70, 2, 16}, Extent{3, 30, 150, 1, 33}, Extent{1, 131, 67, 1, 64},
          Extent{2, 40, 66, 1, 32}, Extent{1, 67, 35, 1, 128}})
        for (const bool causal : {false, true})
            for (const bool padded : {false, true})
                for (const double probability : {0.0, 0.2})
                    add_case(table, extent, {causal, {probability, 99, 4}}, padded);
}

}  // namespace mpt

// Turns a sample of an op into types, values and a node.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/philox.h"
#include "graph/builder.h"
#include "graph/kernel.h"
#include "ops/reference.h"
#include "ops/samples.h"

namespace mpt::test {

using Values = std::vector<std::vector<double>>;  // one a tensor

inline TensorType type_of(const SampleInput& input, DType data) {
    switch (input.kind) {
        case SampleInput::Kind::kData:
            return {input.shape, data};
        case SampleInput::Kind::kWide:
            return {input.shape, wide_of(data)};
        case SampleInput::Kind::kIndices:
            return {input.shape, DType::i32};
        case SampleInput::Kind::kBytes:
            return {input.shape, DType::u8};
        case SampleInput::Kind::kE4m3:
            return {input.shape, DType::e4m3};
        case SampleInput::Kind::kE5m2:
            return {input.shape, DType::e5m2};
        case SampleInput::Kind::kAbsent:
            return {};
    }
    return {};
}

inline Signature signature_of(const Sample& sample, DType data, int num_threads) {
    Signature s;
    s.op = sample.op;
    s.attributes = sample.attributes;
    s.num_threads = num_threads;
    for (const SampleInput& input : sample.inputs) {
        s.inputs.push_back(type_of(input, data));
        s.present.push_back(input.kind != SampleInput::Kind::kAbsent);
    }
    s.outputs = sample.op->infer(s.attributes, s.inputs);
    return s;
}

// Values of the inputs, rounded to the type they will be stored in; the same for every kernel and thread
// count.
inline Values draw_inputs(const Sample& sample, DType data) {
    Values all;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
        const SampleInput& input = sample.inputs[i];
        const TensorType type = type_of(input, data);
        std::vector<double> values;
        RandomStream random(20261, RandomPurpose::kSample, i, sample.inputs.size());
        if (input.kind != SampleInput::Kind::kAbsent) {
            values = input.values;
            for (std::int64_t e = static_cast<std::int64_t>(values.size()); e < type.shape.num_elements();
                 ++e) {
                const double u = static_cast<double>(random.next_u32()) * 0x1p-32;
                values.push_back(is_float(type.dtype)
                                     ? input.low + (input.high - input.low) * u
                                     : input.low + std::floor((input.high - input.low + 1) * u));
            }
        }
        for (double& value : values) {
            double stored = 0;
            reference::store(&stored, type.dtype, 0, value);
            value = reference::load(&stored, type.dtype, 0);
        }
        all.push_back(std::move(values));
    }
    return all;
}

// A graph of one node, its inputs being the graph's inputs; used with f64 data.
struct SampleGraph {
    Graph graph;
    std::vector<ValueId> inputs;
    Node node;  // a copy: building more nodes moves the graph's own

    SampleGraph(const Sample& sample, DType data) {
        GraphBuilder builder(graph);
        for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
            const bool absent = sample.inputs[i].kind == SampleInput::Kind::kAbsent;
            inputs.push_back(
                absent ? kNone : builder.input("input" + std::to_string(i), type_of(sample.inputs[i], data)));
        }
        builder.node(*sample.op, sample.attributes, inputs, std::string(sample.op->name));
        node = graph.nodes.front();
    }
};

}  // namespace mpt::test

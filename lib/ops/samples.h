// What an op brings to the one generic op test (tests/ops/generic_op_test.cpp).
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace mpt {

// One input of a sample: its shape and the range its values are drawn from (uniformly; integers inclusive).
struct SampleInput {
    Shape shape;
    double low = -1, high = 1;
    enum class Kind : std::uint8_t {
        kData,     // takes the dtype of the case (f64, f32, f16, bf16)
        kWide,     // f32 (f64 in the gradient check): parameters, statistics
        kIndices,  // i32
        kBytes,    // u8
        kE4m3,
        kE5m2,
        kAbsent,  // an optional input that is not given
    } kind = Kind::kData;
    bool differentiable = true;       // checked against finite differences when the op has a gradient rule
    std::vector<double> values = {};  // given instead of drawn from the range
};

struct Sample {
    std::string name;  // a reproducer: "[4x33] approx=tanh"
    const OpType* op = nullptr;
    Attributes attributes;
    std::vector<SampleInput> inputs;
    double tolerance_factor = 1;        // multiplies the tolerance of dtype and reduction length
    std::int64_t reduction_length = 1;  // how many terms one output element sums
    bool check_gradient = true;
    // Outputs that sum values of another output as stored, and so carry its rounding.
    std::vector<int> sums_stored = {};
    // Outputs that sum values which a kernel may round to the type of the data on the way.
    std::vector<int> sums_rounded = {};
    // For an op whose inputs cannot be drawn at random: the test file that covers it, with its own reference.
    std::string tested_by = {};
};

struct SampleTable {
    std::vector<Sample> samples;
    void add(Sample sample) { samples.push_back(std::move(sample)); }
};
const SampleTable& sample_table();
void add_all_samples(SampleTable& table);

}  // namespace mpt

#include <limits>

#include "ops/quantize_fp8/quantize_fp8.h"
#include "ops/samples.h"

namespace mpt {

namespace {

using Kind = SampleInput::Kind;

// scale, next place, amax of the last uses
const std::vector<double> kFresh = {0, 0, 0, 0, 0, 0}, kUsed = {64, 2, 6.5, 3, 7, 0.25},
                          kTooLarge = {1024, 3, 0.4, 0.4, 0.4, 0.4}, kAllZero = {0.5, 1, 0, 0, 0, 0};

void add_case(SampleTable& table, const Shape& shape, const QuantizeFp8Attributes& attributes,
              const std::vector<double>& state, const std::vector<double>& values = {}) {
    const SampleInput x{shape, -9, 9, Kind::kData, false, values};
    const SampleInput history{{static_cast<std::int64_t>(state.size())}, 0, 0, Kind::kWide, false, state};
    Sample sample{to_string(shape) + " scale " + std::to_string(static_cast<int>(state[0])),
                  &quantize_fp8_op,
                  attributes,
                  {x, history}};
    sample.check_gradient = false;
    table.add(sample);
}

}  // namespace

void register_quantize_fp8_samples(SampleTable& table) {
    for (const DType format : {DType::e4m3, DType::e5m2}) {
        for (const auto& state : {kFresh, kUsed, kTooLarge}) {
            add_case(table, {16, 32}, {format, true, true}, state);
            // Partial tiles, several of them, and rows that are padded.
            add_case(table, {70, 144}, {format, true, true, 1}, state);
            add_case(table, {3, 16}, {format, false, true}, state);
            add_case(table, {129, 80}, {format, true, false}, state);
        }
        add_case(table, {2, 16}, {format, true, true}, kAllZero, std::vector<double>(32, 0.0));
        add_case(table, {2, 16}, {format, true, true}, kFresh, std::vector<double>(32, 0.0));
        // What is not finite becomes NaN and leaves the state alone; ties, subnormals, saturation.
        for (const double wrong :
             {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
            add_case(table, {1, 16}, {format, true, true}, kUsed, {1, 2, -wrong, 3, wrong});
        add_case(table, {1, 16}, {format, true, true}, kUsed,
                 {7, -7.25, 7.5, 0x1p-16, -0x1p-15, 0x3p-17, 0x1p-23, 0x1p-22, -0x3p-22, 1000, -2000, 1.0625,
                  1.1875, 1.125, 1.375, -0.0});
    }
}

}  // namespace mpt

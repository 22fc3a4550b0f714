// What one run of a compiled graph takes, whatever the model: a shape, which names the plan, and the bytes of
// its inputs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mpt {

// Images: rows alone. Tokens: rows of `length`. Sentence pairs: sources of `source_length` as well.
struct BatchShape {
    std::int64_t rows = 0, length = 0, source_length = 0;
    auto operator<=>(const BatchShape&) const = default;
};
// "16", "16x256", "16x32->32".
std::string to_string(const BatchShape& shape);

struct GraphInput {
    std::string_view name;
    std::span<const std::byte> bytes;
};
template <typename T>
GraphInput graph_input(std::string_view name, std::span<const T> values) {
    return {name, std::as_bytes(values)};
}

struct MicroBatch {
    BatchShape shape;
    std::vector<GraphInput> inputs;  // every input of the graph but `weight` and `step`
    std::int64_t weight = 0;         // images, or targets that count: what the loss is a mean over
};

// What a micro-step is within the run.
struct MicroStepPlace {
    std::int64_t window_weight = 1;  // of all micro-batches of the update; the gradient is that of the mean
    std::int64_t index = 0;          // micro-steps of the run before this one; random numbers hang on it
};

}  // namespace mpt

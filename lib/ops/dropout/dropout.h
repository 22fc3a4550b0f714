// dropout: (x, step i32 []) -> y = x / (1 - probability) where a random number says so, else 0; any shape.
// The numbers are Philox of (seed, stream, step, element): nothing is stored, and who has the same attributes
// and step draws the same mask, whatever the number of threads. So the gradient is the same op on grad_y, and
// a recomputed forward is the first one. `stream` tells one dropout of a model from another, `step` (of
// micro-steps, from the host) one batch from the next. An element is dropped when its number is below
// round(probability * 2^32).
#pragma once

#include <cstdint>

#include "core/philox.h"
#include "graph/builder.h"

namespace mpt {

struct DropoutAttributes {
    double probability = 0;  // of dropping an element, in [0, 1)
    std::uint64_t seed = 0;
    std::uint32_t stream = 0;
    bool operator==(const DropoutAttributes&) const = default;
};
std::string print(const DropoutAttributes& attributes);

extern const OpType dropout_op;

ValueId dropout(GraphBuilder& builder, ValueId x, ValueId step, DropoutAttributes attributes,
                const std::string& name = "dropout");

// The random numbers of one call. Blocks of four numbers are laid out for vectors: element i takes number
// (i % 32) / 8 of block (i / 32) * 8 + i % 8.
struct DropoutNumbers {
    std::uint64_t key = 0, counter_high = 0;

    DropoutNumbers(const DropoutAttributes& attributes, std::int32_t step)
        : key(attributes.seed ^
              (static_cast<std::uint64_t>(RandomPurpose::kDropout) * 0x9E3779B97F4A7C15ull)),
          counter_high((static_cast<std::uint64_t>(attributes.stream) << 32) |
                       static_cast<std::uint32_t>(step)) {}
    std::uint32_t of_element(std::int64_t i) const {
        const auto block = static_cast<std::uint64_t>(i / 32 * 8 + i % 8);
        return philox(key, counter_high, block)[static_cast<std::size_t>(i % 32 / 8)];
    }
};
// Numbers below it drop.
std::uint32_t dropout_threshold(const DropoutAttributes& attributes);

}  // namespace mpt

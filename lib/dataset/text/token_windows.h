// Batches for a language model: windows of T tokens and, as targets, the same moved on by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataset/text/token_stream.h"

namespace mpt {

// A target that counts nothing: the loss leaves it out.
constexpr TokenId kIgnoredTarget = -1;

struct TokenBatch {
    std::int64_t rows = 0, length = 0;
    TokenIds inputs;               // (rows, length)
    TokenIds targets;              // (rows, length), kIgnoredTarget where there is none
    std::int64_t num_targets = 0;  // that count: the batch's weight, 0 for nothing but padding
};

struct WindowShape {
    std::int64_t rows = 1, length = 1;
};

// Throws Error(kData) naming `origin` unless the stream holds a window and the token after it.
void check_window_fits(const TokenStream& stream, std::int64_t length, const std::string& origin);

// Windows that start anywhere, drawn anew for each (seed, step, micro_step) as nanoGPT does; the position of
// a run is its step.
TokenBatch random_windows(const TokenStream& stream, const WindowShape& shape, std::uint64_t seed,
                          std::int64_t step, std::int64_t micro_step = 0);

// Windows one behind the other: every token but the very first is a target exactly once over all batches. The
// last windows are filled with ignored targets and inputs 0.
std::int64_t num_sequential_batches(const TokenStream& stream, const WindowShape& shape);
TokenBatch sequential_windows(const TokenStream& stream, const WindowShape& shape, std::int64_t batch);

}  // namespace mpt

#include "dataset/text/token_windows.h"

#include <algorithm>

#include "core/error.h"
#include "core/philox.h"

namespace mpt {
namespace {

TokenBatch empty_batch(const WindowShape& shape) {
    MPT_CHECK(shape.rows >= 1 && shape.length >= 1);
    TokenBatch batch;
    batch.rows = shape.rows;
    batch.length = shape.length;
    batch.inputs.assign(static_cast<std::size_t>(shape.rows * shape.length), 0);
    batch.targets.assign(batch.inputs.size(), kIgnoredTarget);
    return batch;
}

void fill_row(const TokenStream& stream, TokenBatch& batch, std::int64_t row, std::int64_t first,
              std::int64_t count) {
    const auto at = static_cast<std::size_t>(row * batch.length), n = static_cast<std::size_t>(count);
    stream.copy(first, std::span(batch.inputs).subspan(at, n));
    stream.copy(first + 1, std::span(batch.targets).subspan(at, n));
    batch.num_targets += count;
}

}  // namespace

void check_window_fits(const TokenStream& stream, std::int64_t length, const std::string& origin) {
    if (stream.num_tokens() > length) return;
    throw Error(ExitCode::kData, origin + ": " + std::to_string(stream.num_tokens()) +
                                     " tokens are too few for a window of " + std::to_string(length) +
                                     " and the token after it; shorten the window or give more text");
}

TokenBatch random_windows(const TokenStream& stream, const WindowShape& shape, std::uint64_t seed,
                          std::int64_t step, std::int64_t micro_step) {
    MPT_CHECK(stream.num_tokens() > shape.length && step >= 0 && micro_step >= 0);
    TokenBatch batch = empty_batch(shape);
    // The second index is not 0, which is where the order of an epoch is drawn from.
    RandomStream random(seed, RandomPurpose::kShuffle, static_cast<std::uint64_t>(step),
                        static_cast<std::uint64_t>(micro_step) + 1);
    const auto num_starts = static_cast<std::uint64_t>(stream.num_tokens() - shape.length);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
        fill_row(stream, batch, row, static_cast<std::int64_t>(random.below(num_starts)), shape.length);
    }
    return batch;
}

std::int64_t num_sequential_batches(const TokenStream& stream, const WindowShape& shape) {
    const std::int64_t targets = std::max<std::int64_t>(stream.num_tokens() - 1, 0);
    const std::int64_t per_batch = shape.rows * shape.length;
    return (targets + per_batch - 1) / per_batch;
}

TokenBatch sequential_windows(const TokenStream& stream, const WindowShape& shape, std::int64_t batch_index) {
    MPT_CHECK(batch_index >= 0 && batch_index < num_sequential_batches(stream, shape));
    TokenBatch batch = empty_batch(shape);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
        const std::int64_t first = (batch_index * shape.rows + row) * shape.length;
        const std::int64_t count = std::min(shape.length, stream.num_tokens() - 1 - first);
        if (count > 0) fill_row(stream, batch, row, first, count);
    }
    return batch;
}

}  // namespace mpt

// The pure part of a stream: which samples make which batch.
#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/philox.h"
#include "dataset/batch_stream.h"

namespace mpt {
namespace {

void check(const Batching& batching) {
    MPT_CHECK(batching.batch_size >= 1 && batching.accumulate >= 1);
}

}  // namespace

std::int64_t num_windows(std::int64_t num_samples, const Batching& batching, std::int64_t first_offset) {
    check(batching);
    const std::int64_t left = std::max<std::int64_t>(num_samples - first_offset, 0);
    const std::int64_t full = left / batching.batch_size;
    return batching.drop_last || left % batching.batch_size == 0 ? full : full + 1;
}

Window epoch_window(std::int64_t num_samples, const Batching& batching, std::int64_t first_offset,
                    std::int64_t index) {
    const std::int64_t offset = first_offset + index * batching.batch_size;
    Window window{offset, std::min(batching.batch_size, num_samples - offset), {}};
    for (std::int64_t left = window.samples; left > 0; left -= batching.micro_batch()) {
        window.micro_batches.push_back(std::min(left, batching.micro_batch()));
    }
    return window;
}

std::vector<Window> epoch_windows(std::int64_t num_samples, const Batching& batching,
                                  std::int64_t first_offset) {
    std::vector<Window> windows;
    const std::int64_t count = num_windows(num_samples, batching, first_offset);
    for (std::int64_t i = 0; i < count; ++i) {
        windows.push_back(epoch_window(num_samples, batching, first_offset, i));
    }
    return windows;
}

std::vector<std::uint32_t> epoch_order(std::int64_t num_samples, std::uint64_t seed, std::int64_t epoch,
                                       Order order) {
    MPT_CHECK(num_samples >= 0 && num_samples <= 0x7fffffff);
    std::vector<std::uint32_t> samples(static_cast<std::size_t>(num_samples));
    std::iota(samples.begin(), samples.end(), 0u);
    if (order == Order::kInOrder) return samples;
    RandomStream random(seed, RandomPurpose::kShuffle, static_cast<std::uint64_t>(epoch));
    for (std::size_t i = samples.size(); i > 1; --i) std::swap(samples[i - 1], samples[random.below(i)]);
    return samples;
}

StreamOptions evaluation_stream(std::int64_t batch_size, int workers, int prefetch) {
    StreamOptions options;
    options.order = Order::kInOrder;
    options.batching.batch_size = batch_size;
    options.end_epoch = 1;
    options.workers = workers;
    options.prefetch = prefetch;
    return options;
}

}  // namespace mpt

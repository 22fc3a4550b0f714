// Batches in the order an epoch is trained in. Everything is a function of (seed, epoch, sample), so that any
// number of workers and a resume at any position give the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataset/byte_buffer.h"
#include "dataset/image_source.h"

namespace mpt {

// The samples of one update, split into micro-batches (their sizes).
struct Window {
    std::int64_t offset = 0;  // of the first sample within the epoch
    std::int64_t samples = 0;
    std::vector<std::int64_t> micro_batches;
    bool operator==(const Window&) const = default;
};

struct Batching {
    std::int64_t batch_size = 1;  // samples one update consumes
    std::int64_t accumulate = 1;  // micro-batches in a full window
    bool drop_last = false;
    std::int64_t micro_batch() const { return (batch_size + accumulate - 1) / accumulate; }
};

// The windows of an epoch from sample `first_offset` on. 10 samples, batch 8, accumulate 4 give micro-batches
// 2,2,2,2 and then 2; with drop_last the second window is left out. Windows never reach into the next epoch.
std::vector<Window> epoch_windows(std::int64_t num_samples, const Batching& batching,
                                  std::int64_t first_offset = 0);
// The one of number `index`, without making the list.
Window epoch_window(std::int64_t num_samples, const Batching& batching, std::int64_t first_offset,
                    std::int64_t index);
std::int64_t num_windows(std::int64_t num_samples, const Batching& batching, std::int64_t first_offset = 0);

// The permutation of an epoch; the identity unless shuffled.
enum class Order { kShuffled, kInOrder };
std::vector<std::uint32_t> epoch_order(std::int64_t num_samples, std::uint64_t seed, std::int64_t epoch,
                                       Order order);

struct AugmentOptions {
    std::int64_t crop_padding = 0;  // zeros around the image, then a crop of the old size at random
    bool horizontal_flip = false;   // with probability 1/2
    bool random_resized_crop = false;
    std::array<double, 2> crop_scale = {0.08, 1};           // share of the area
    std::array<double, 2> crop_ratio = {3.0 / 4, 4.0 / 3};  // width / height
    std::array<double, 4> color_jitter = {0, 0, 0, 0};      // brightness, contrast, saturation, hue
    std::int64_t rand_augment_ops = 2;
    std::int64_t rand_augment_magnitude = 0;  // 0: off; to 30
    double random_erasing = 0;                // probability
    std::array<std::uint8_t, 3> erase_colour = {0, 0, 0};
    double mixup = 0, cutmix = 0;  // alpha of their Beta distribution; 0: off
    bool operator==(const AugmentOptions&) const = default;
};

struct StreamPosition {
    std::int64_t epoch = 0;
    std::int64_t offset = 0;  // samples of the epoch already consumed
    bool operator==(const StreamPosition&) const = default;
};

struct StreamOptions {
    std::uint64_t seed = 0;
    Order order = Order::kShuffled;
    AugmentOptions augment;
    Batching batching;
    StreamPosition start;
    std::int64_t end_epoch = -1;  // the stream ends before this epoch; -1: never
    int workers = 1;              // 0: batches are made inside next()
    int prefetch = 4;             // batches made ahead, at least 1
};

// In order, every sample once, without augmentation, the short last batch included; ends after one pass.
StreamOptions evaluation_stream(std::int64_t batch_size, int workers, int prefetch);

// One micro-batch.
struct Batch {
    ByteBuffer images;                 // u8 (count, H, W, C), 64-byte aligned, room for a full micro-batch
    std::vector<std::int32_t> labels;  // (count)
    // (count) of mixed images, else empty. `labels` has the label of the larger share.
    std::vector<std::int32_t> second_labels;
    std::vector<float> label_shares;       // of `labels`
    std::vector<std::int64_t> sample_ids;  // (count)
    std::int64_t count = 0;
    std::int64_t epoch = 0;
    std::int64_t first = 0;           // position of the first sample in the epoch
    std::int64_t window_offset = 0;   // of the update this belongs to, in the epoch
    std::int64_t window_samples = 0;  // of that update
    std::int64_t before = 0;          // the sample before the first one in the update; of its first, the last
    std::int64_t micro_index = 0;     // within the update
    std::int64_t num_micro = 0;       // micro-batches of the update
    std::uint64_t hash = 0;           // of images, labels, shares and sample ids
    StreamPosition after() const { return {epoch, first + count}; }
};

struct NextBatch {
    const Batch* batch = nullptr;  // null at the end; valid until the following call of next()
    double wait_ms = 0;            // how long the caller was kept waiting
};

// Not copyable, one consumer. The source must outlive it. An error in a worker is rethrown by next().
class BatchStream {
  public:
    // Throws Error(kData) when drop_last would leave no batch at all, Error(kCheckpoint) when the start lies
    // outside the data.
    BatchStream(const ImageSource& source, const StreamOptions& options);
    ~BatchStream();  // stops the workers, at most one image later
    BatchStream(const BatchStream&) = delete;
    BatchStream& operator=(const BatchStream&) = delete;

    NextBatch next();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// What a stream keeps resident: its batches and the order of the epoch.
std::int64_t stream_memory_bytes(const ImageSource& source, const StreamOptions& options);

}  // namespace mpt

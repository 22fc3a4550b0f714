// What a run trains on and is evaluated on, whatever the kind of data: a description for the program, and
// feeds of micro-batches. A new kind of data is one file that fills in RunData, and a line in open_data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "dataset/batch_stream.h"
#include "dataset/image_source.h"
#include "metrics/rows.h"
#include "train/data_identity.h"
#include "train/micro_batch.h"
#include "train/training_program.h"

namespace mpt {

class Tokenizer;

struct FeedItem {
    const MicroBatch* batch = nullptr;  // null at the end; valid until the following call of next()
    double wait_ms = 0;                 // how long the caller was kept waiting
    // In training:
    std::int64_t window_weight = 0;               // of all micro-batches of its update
    std::int64_t micro_index = 0, num_micro = 1;  // within the update
    std::int64_t epoch = 0;
    StreamPosition after;  // where training goes on behind this micro-batch, {epoch + 1, 0} at an epoch's end
    bool ends_update() const { return micro_index + 1 == num_micro; }
};

class BatchFeed {
  public:
    virtual ~BatchFeed() = default;
    virtual FeedItem next() = 0;
};

// Text that goes with a checkpoint; null where there is none.
struct RunTokenizers {
    std::shared_ptr<const Tokenizer> source, target;  // a language model has the target's alone
};

class RunData {
  public:
    virtual ~RunData() = default;

    DataDescription description;
    std::vector<std::string> warnings;

    virtual Unit unit() const = 0;
    // "60000 training and 10000 test images of 28x28x1, 10 classes, /usr/share/..."
    virtual std::string summary() const = 0;
    // What was read and what was left out, a line for each part or file: for `mpt-train data`.
    virtual std::vector<std::string> findings() const { return {}; }
    virtual DataIdentity identity() const = 0;
    virtual std::vector<std::string> class_names() const { return {}; }
    virtual RunTokenizers tokenizers() const { return {}; }
    // Characters (code points) and bytes of text behind each target of the evaluation; 0: unknown.
    virtual double characters_per_target() const { return 0; }
    virtual double bytes_per_target() const { return 0; }
    // All validation pairs as text, too long ones included; empty where there is no such text.
    virtual std::span<const std::string> validation_sources() const { return {}; }
    virtual std::span<const std::string> validation_references() const { return {}; }

    // Every shape that occurs from `start` on.
    virtual std::vector<BatchShape> training_shapes(const StreamPosition& start) const = 0;
    virtual std::vector<BatchShape> evaluation_shapes() const = 0;
    virtual std::unique_ptr<BatchFeed> training_feed(const StreamPosition& start) const = 0;
    // Everything once, in order.
    virtual std::unique_ptr<BatchFeed> evaluation_feed() const = 0;
};

// What a checkpoint was trained with, and its weights mean something only with.
struct TrainedWith {
    std::string checkpoint;                      // where it lies, for messages; empty: there is none
    std::vector<std::string> class_names;        // which labels of pictures are counted in
    std::shared_ptr<const Tokenizer> tokenizer;  // in place of the one that the config or the text makes
    ChannelStatistics normalization;             // in place of those of the training images; empty: unknown
    bool only_evaluated = false;  // training samples are opened only where something is needed of them
};

// Error(kData), Error(kUsage); Stopped when `stop` says so while pictures are decoded.
std::unique_ptr<RunData> open_data(const RunConfig& config, const TrainedWith& trained = {},
                                   const AskStop& stop = {});
std::unique_ptr<RunData> open_image_data(const RunConfig& config, const TrainedWith& trained,
                                         const AskStop& stop);
std::unique_ptr<RunData> open_token_data(const RunConfig& config, std::shared_ptr<const Tokenizer> trained);
std::unique_ptr<RunData> open_pair_data(const RunConfig& config, std::shared_ptr<const Tokenizer> trained);

}  // namespace mpt

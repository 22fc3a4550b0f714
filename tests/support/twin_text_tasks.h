// Tasks for twin_training.h on text: a small GPT, the other half of what a GPT can be made of, and a small
// encoder-decoder.
#pragma once

#include <string>
#include <vector>

#include "support/small_text_run.h"
#include "support/twin_training.h"

namespace mpt::test {

inline constexpr std::int64_t kTwinVocabulary = 50;

inline std::vector<std::int32_t> twin_tokens(RandomStream& random, std::int64_t count) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i)
        ids.push_back(static_cast<std::int32_t>(random.below(kTwinVocabulary)));
    return ids;
}

// Targets that can be learned from the tokens; the last of each row is padding.
inline std::vector<std::int32_t> targets_of(const std::vector<std::int32_t>& ids, std::int64_t length) {
    std::vector<std::int32_t> targets;
    for (std::size_t i = 0; i < ids.size(); ++i)
        targets.push_back((static_cast<std::int64_t>(i) + 1) % length == 0 ? -1 : (ids[i] * 3 + 1) % 50);
    return targets;
}

inline OwnedBatch draw_windows(const DataDescription& data, RandomStream& random) {
    const BatchShape& shape = data.micro_batch;
    OwnedBatch batch;
    batch.shape = shape;
    const auto ids = twin_tokens(random, shape.rows * shape.length);
    batch.add("tokens", ids);
    batch.add("targets", targets_of(ids, shape.length));
    batch.weight = shape.rows * (shape.length - 1);
    return batch;
}

inline OwnedBatch draw_pairs(const DataDescription& data, RandomStream& random) {
    const BatchShape& shape = data.micro_batch;
    OwnedBatch batch;
    batch.shape = shape;
    std::vector<std::int32_t> lengths;
    for (std::int64_t r = 0; r < shape.rows; ++r)
        lengths.push_back(
            static_cast<std::int32_t>(1 + random.below(static_cast<std::uint32_t>(shape.source_length))));
    const auto ids = twin_tokens(random, shape.rows * shape.length);
    batch.add("source", twin_tokens(random, shape.rows * shape.source_length));
    batch.add("source_lengths", lengths);
    batch.add("target", ids);
    batch.add("targets", targets_of(ids, shape.length));
    batch.weight = shape.rows * (shape.length - 1);
    return batch;
}

inline TwinTask text_task(RunConfig config, PrecisionMode mode) {
    TwinTask task;
    config.precision.mode = mode;
    config.train.batch_size = 4;
    config.train.accumulate = 2;
    config.optimizer.lr = 0.001;
    config.optimizer.clip_norm = 1;
    config.optimizer.weight_decay = 0.01;
    task.config = std::move(config);
    task.data.vocabulary = kTwinVocabulary;
    task.data.total_updates = 20;
    return task;
}

inline TwinTask gpt_task(PrecisionMode mode) {
    TwinTask task = text_task(small_gpt_config("unused", "unused"), mode);
    task.data.micro_batch = {.rows = 2, .length = 8};
    task.draw = draw_windows;
    return task;
}

// The other half of what a GPT can be made of.
inline TwinTask modern_gpt_task(PrecisionMode mode) {
    TwinTask task = gpt_task(mode);
    task.config.model.positions = PositionType::kRotary;
    task.config.model.norm = NormType::kRmsNorm;
    task.config.model.activation = ActivationType::kSwiglu;
    task.config.model.bias = false;
    task.config.model.dropout = 0.1;
    return task;
}

inline TwinTask translation_task(PrecisionMode mode) {
    TwinTask task = text_task(small_transformer_config("unused", "unused"), mode);
    task.config.train.label_smoothing = 0.1;
    task.config.model.dropout = 0.1;
    task.data.micro_batch = {.rows = 2, .length = 7, .source_length = 9};
    task.draw = draw_pairs;
    return task;
}

}  // namespace mpt::test

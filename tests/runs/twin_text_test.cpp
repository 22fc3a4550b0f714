// Whole training steps of the CUDA backend on the host twin, of a GPT and of an encoder-decoder; against the
// CPU.
#include <catch2/catch.hpp>

#include "support/small_text_run.h"
#include "support/twin_training.h"

using namespace mpt;
using gpu::TwinOrder;

namespace {

constexpr std::int64_t kVocabulary = 50;

std::vector<std::int32_t> tokens(RandomStream& random, std::int64_t count) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i)
        ids.push_back(static_cast<std::int32_t>(random.below(kVocabulary)));
    return ids;
}

// Targets that can be learned from the tokens; the last of each row is padding.
std::vector<std::int32_t> targets_of(const std::vector<std::int32_t>& ids, std::int64_t length) {
    std::vector<std::int32_t> targets;
    for (std::size_t i = 0; i < ids.size(); ++i)
        targets.push_back((static_cast<std::int64_t>(i) + 1) % length == 0 ? -1 : (ids[i] * 3 + 1) % 50);
    return targets;
}

test::OwnedBatch draw_windows(const DataDescription& data, RandomStream& random) {
    const BatchShape& shape = data.micro_batch;
    test::OwnedBatch batch;
    batch.shape = shape;
    const auto ids = tokens(random, shape.rows * shape.length);
    batch.add("tokens", ids);
    batch.add("targets", targets_of(ids, shape.length));
    batch.weight = shape.rows * (shape.length - 1);
    return batch;
}

test::OwnedBatch draw_pairs(const DataDescription& data, RandomStream& random) {
    const BatchShape& shape = data.micro_batch;
    test::OwnedBatch batch;
    batch.shape = shape;
    std::vector<std::int32_t> lengths;
    for (std::int64_t r = 0; r < shape.rows; ++r)
        lengths.push_back(
            static_cast<std::int32_t>(1 + random.below(static_cast<std::uint32_t>(shape.source_length))));
    const auto ids = tokens(random, shape.rows * shape.length);
    batch.add("source", tokens(random, shape.rows * shape.source_length));
    batch.add("source_lengths", lengths);
    batch.add("target", ids);
    batch.add("targets", targets_of(ids, shape.length));
    batch.weight = shape.rows * (shape.length - 1);
    return batch;
}

test::TwinTask text_task(RunConfig config, PrecisionMode mode) {
    test::TwinTask task;
    config.precision.mode = mode;
    config.train.batch_size = 4;
    config.train.accumulate = 2;
    config.optimizer.lr = 0.001;
    config.optimizer.clip_norm = 1;
    config.optimizer.weight_decay = 0.01;
    task.config = std::move(config);
    task.data.vocabulary = kVocabulary;
    task.data.total_updates = 20;
    return task;
}

test::TwinTask gpt_task(PrecisionMode mode) {
    test::TwinTask task = text_task(test::small_gpt_config("unused", "unused"), mode);
    task.data.micro_batch = {.rows = 2, .length = 8};
    task.draw = draw_windows;
    return task;
}

// The other half of what a GPT can be made of.
test::TwinTask modern_gpt_task(PrecisionMode mode) {
    test::TwinTask task = gpt_task(mode);
    task.config.model.positions = PositionType::kRotary;
    task.config.model.norm = NormType::kRmsNorm;
    task.config.model.activation = ActivationType::kSwiglu;
    task.config.model.bias = false;
    task.config.model.dropout = 0.1;
    return task;
}

test::TwinTask translation_task(PrecisionMode mode) {
    test::TwinTask task = text_task(test::small_transformer_config("unused", "unused"), mode);
    task.config.train.label_smoothing = 0.1;
    task.config.model.dropout = 0.1;
    task.data.micro_batch = {.rows = 2, .length = 7, .source_length = 9};
    task.draw = draw_pairs;
    return task;
}

void check(test::TwinTask (*task)(PrecisionMode), TwinOrder order) {
    const auto plain = test::train_both(task(PrecisionMode::kFp32), order, 20);
    CHECK(plain.worst_loss() < 1e-4);
    CHECK(plain.twin.controls.back().applied == 20);
    CHECK(plain.twin.losses.back() < plain.twin.losses.front());
    const auto f16 = test::train_both(task(PrecisionMode::kAmpFp16), order, 20, 4);
    CHECK(f16.worst_loss() < 2e-2);
    CHECK(f16.twin.controls[4].found_nonfinite == 1);
    CHECK(f16.twin.controls.back().skipped == 1);
    CHECK(f16.twin.controls.back().applied == 19);
    const auto bf16 = test::train_both(task(PrecisionMode::kAmpBf16), order, 20);
    CHECK(bf16.worst_loss() < 2e-2);
    CHECK(bf16.twin.controls.back().applied == 20);
}

}  // namespace

TEST_CASE("a GPT trains on the host twin as on the CPU, an overflow included") {
    check(gpt_task, TwinOrder::kFirstStreamAhead);
}

TEST_CASE("a GPT of rotations, RMS norms and gated units trains on the host twin as on the CPU") {
    check(modern_gpt_task, TwinOrder::kSecondStreamAhead);
}

TEST_CASE("an encoder-decoder trains on the host twin as on the CPU, an overflow included") {
    check(translation_task, TwinOrder::kFirstStreamAhead);
}

TEST_CASE("text on the host twin gives the same bits with the threads in the other order") {
    const auto weights = test::weights_in_both_orders(gpt_task(PrecisionMode::kAmpFp16), 3);
    CHECK(weights[0] == weights[1]);
}

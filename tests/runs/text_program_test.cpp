// The compiled program on token batches that a data set would never hold by itself: nothing but padding
// (H08), words that never occur (H07), a vocabulary that needs padding (H44).
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/philox.h"
#include "support/errors.h"
#include "support/small_text_run.h"
#include "train/run_data.h"
#include "train/training_program.h"
#include "train/weights.h"

using namespace mpt;

namespace {

constexpr std::int64_t kRows = 4, kLength = 8;

struct Tokens {
    std::vector<std::int32_t> inputs, targets;
    MicroBatch batch() const {
        MicroBatch batch;
        batch.shape = {.rows = kRows, .length = kLength};
        batch.inputs = {graph_input<std::int32_t>("tokens", inputs),
                        graph_input<std::int32_t>("targets", targets)};
        for (const std::int32_t target : targets) batch.weight += target >= 0 ? 1 : 0;
        return batch;
    }
};

// Tokens below `limit`.
Tokens some_tokens(std::uint64_t index, std::uint32_t limit) {
    Tokens tokens;
    RandomStream random(5, RandomPurpose::kSynthetic, index);
    for (std::int64_t i = 0; i < kRows * kLength; ++i) {
        tokens.inputs.push_back(static_cast<std::int32_t>(random.below(limit)));
        tokens.targets.push_back(static_cast<std::int32_t>(random.below(limit)));
    }
    return tokens;
}

RunConfig gpt_run(PrecisionMode mode) {
    RunConfig config = test::small_gpt_config("unused", "unused");
    config.precision.mode = mode;
    config.optimizer.type = OptimizerType::kAdam;
    config.optimizer.weight_decay = 0;
    config.train.batch_size = kRows;
    return config;
}

DataDescription description(std::int64_t vocabulary) {
    DataDescription data;
    data.vocabulary = vocabulary;
    data.micro_batch = {.rows = kRows, .length = kLength};
    data.total_updates = 20;
    return data;
}

std::vector<float> master_of(TrainingProgram& program, const std::string& name) {
    const VariableTable& table = program.variables();
    const Variable& variable = table[table.find(name)];
    const float* first = reinterpret_cast<const float*>(program.region(Region::kMaster)) + variable.offset;
    return {first, first + variable.shape.num_elements()};
}

}  // namespace

TEST_CASE("H08: a batch of nothing but padding adds no loss, no gradient and no skip") {
    const auto mode = GENERATE(PrecisionMode::kFp32, PrecisionMode::kAmpFp16);
    TrainingProgram program(gpt_run(mode), description(50), 2);
    program.allocate();
    program.initialize(1);
    Tokens padding = some_tokens(0, 50);
    padding.targets.assign(padding.targets.size(), -1);
    // Within a window: the gradient norm is that of the other micro-batch alone.
    const Tokens words = some_tokens(1, 50);
    CHECK(program.run_micro_step(words.batch(), {kRows * kLength, 0}).loss_sum > 0);
    const BatchResult nothing = program.run_micro_step(padding.batch(), {kRows * kLength, 1});
    CHECK(nothing.loss_sum == 0);
    CHECK(nothing.weight == 0);
    const double with_padding = program.run_update().gradient_norm;
    program.initialize(1);
    program.run_micro_step(words.batch(), {kRows * kLength, 0});
    CHECK(program.run_update().gradient_norm == with_padding);
    // A window of its own.
    CHECK(program.run_micro_step(padding.batch(), {0, 2}).loss_sum == 0);
    const StepControl control = program.run_update();
    CHECK(control.gradient_norm == 0);
    CHECK(control.skipped == 0);
    CHECK(control.applied == 2);
}

TEST_CASE("H07: rows of words that never occur keep their bits in f16, moments stay finite") {
    constexpr std::int64_t kVocabulary = 60;
    constexpr std::int64_t kUsed = 50;
    RunConfig config = gpt_run(PrecisionMode::kAmpFp16);
    config.model.tied_embeddings = false;  // a tied table is the output matrix, too: all rows have gradients
    TrainingProgram program(config, description(kVocabulary), 2);
    program.allocate();
    program.initialize(1);
    const std::vector<float> before = master_of(program, "wte.weight");
    for (int step = 0; step < 20; ++step) {
        program.run_micro_step(some_tokens(static_cast<std::uint64_t>(step), kUsed).batch(),
                               {kRows * kLength, step});
        program.run_update();
    }
    CHECK(program.control().applied == 20);
    const std::vector<float> after = master_of(program, "wte.weight");
    const auto row = static_cast<std::size_t>(config.model.width);
    CHECK(std::memcmp(before.data() + kUsed * row, after.data() + kUsed * row,
                      (kVocabulary - kUsed) * row * 4) == 0);
    CHECK(std::memcmp(before.data(), after.data(), row * 4) != 0);
    for (const Region region : {Region::kMaster, Region::kMoment1, Region::kMoment2}) {
        const float* values = reinterpret_cast<const float*>(program.region(region));
        bool finite = true;
        for (std::int64_t i = 0; i < program.variables().parameter_elements(); ++i)
            finite = finite && std::isfinite(values[i]);
        CHECK(finite);
    }
}

TEST_CASE("H44: a vocabulary is padded inside, and neither the loss nor files know of it") {
    for (const std::int64_t vocabulary : {60, 64}) {
        TrainingProgram program(gpt_run(PrecisionMode::kFp32), description(vocabulary), 2);
        program.allocate();
        program.initialize(1);
        const VariableTable& table = program.variables();
        CHECK(table[table.find("wte.weight")].shape[0] == 64);
        // With weights of zero all words are alike: the loss is the logarithm of their true number.
        float* values = reinterpret_cast<float*>(program.region(Region::kMaster));
        std::fill_n(values, table.parameter_elements(), 0.0f);
        program.weights_changed();
        const BatchResult result = program.run_micro_step(
            some_tokens(3, static_cast<std::uint32_t>(vocabulary)).batch(), {kRows * kLength, 0});
        CHECK(result.loss_sum / static_cast<double>(kRows * kLength) ==
              Approx(std::log(static_cast<double>(vocabulary))).epsilon(1e-6));
        StoreView store{.table = &table};
        store.regions[static_cast<std::size_t>(Region::kMaster)] = program.region(Region::kMaster);
        for (const FileTensor& tensor : weight_tensors(store))
            if (tensor.name == "wte.weight") CHECK(tensor.shape[0] == vocabulary);
    }
}

TEST_CASE("text that does not fit the memory is refused with what would") {
    RunConfig config = gpt_run(PrecisionMode::kFp32);
    const TrainingProgram program(config, description(50), 2);
    const std::int64_t less = program.memory().arena_bytes - 1;
    CHECK_THAT(test::error_of(ExitCode::kResource, [&] { program.check_fits(less); }),
               Catch::Contains("micro-batch 4x8") && Catch::Contains("train.accumulate=2"));
}

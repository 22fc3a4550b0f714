// Resume to the bit (H31), damaged checkpoints, other models (H32), starting weights.
#include <catch2/catch.hpp>
#include <map>

#include "support/errors.h"
#include "support/small_run.h"
#include "train/evaluator.h"

using namespace mpt;
using test::rows_of;
namespace fs = std::filesystem;

namespace {

RunConfig busy_config(const fs::path& output) {
    RunConfig config = test::small_config(output);
    config.optimizer.type = OptimizerType::kAdam;
    config.optimizer.lr = 1e-3;
    config.optimizer.ema = 0.9;
    config.optimizer.weight_decay = 1e-4;
    config.data.augment.crop_padding = 1;
    config.data.augment.horizontal_flip = true;
    config.data.workers = 1;
    config.train.log_every = 3;
    config.train.accumulate = 2;
    config.train.eval_every = {1, DurationUnit::kEpochs};
    return config;
}

void check_same_run(const fs::path& a, const fs::path& b, int step) {
    for (const char* file : {"weights.safetensors", "optimizer.safetensors", "ema.safetensors"})
        CHECK(test::file_text(test::checkpoint_at(a, step) / file) ==
              test::file_text(test::checkpoint_at(b, step) / file));
    for (const char* name : {"step", "epoch", "loss", "top1", "lr", "grad_norm"})
        CHECK(test::column(rows_of(a, "train"), name) == test::column(rows_of(b, "train"), name));
    for (const char* name : {"step", "loss", "top1", "improved"})
        CHECK(test::column(rows_of(a, "eval"), name) == test::column(rows_of(b, "eval"), name));
}

}  // namespace

TEST_CASE("H31: 15 updates straight, 7 + 8 (mid-epoch) and 10 + 5 (end of an epoch) are the same bits") {
    const test::ScratchFolder folder;
    RunConfig straight = busy_config(folder / "straight");
    straight.train.steps = 15;
    test::run(straight);
    for (const std::int64_t first : {7, 10}) {
        const fs::path output = folder / ("first" + std::to_string(first));
        RunConfig config = busy_config(output);
        config.train.steps = first;
        config.train.eval_every = first == 7 ? Duration{} : straight.train.eval_every;
        test::run(config);
        config.train.steps = 15;
        config.train.eval_every = straight.train.eval_every;
        test::run(config, {.resume = ResumeKind::kAuto});
        if (first == 10) check_same_run(folder / "straight", output, 15);
        CHECK(test::weights_of(folder / "straight", 15) == test::weights_of(output, 15));
        CHECK(test::column(rows_of(folder / "straight", "train"), "loss") ==
              test::column(rows_of(output, "train"), "loss"));
    }
}

TEST_CASE("a damaged newest checkpoint: auto says so and falls back, a path is exit 5") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.checkpoint.every = {1, DurationUnit::kUpdates};
    test::run(config);
    const std::string good = test::weights_of(folder / "run", 4);
    std::string bad = good;
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 4);
    const fs::path file = test::checkpoint_at(folder / "run", 4) / "weights.safetensors";
    test::write_file(file, bad);
    const std::string text = test::error_of(ExitCode::kCheckpoint, [&] {
        test::run(config, {.resume = ResumeKind::kPath, .path = file.parent_path().string()});
    });
    CHECK_THAT(text, Catch::Contains("weights.safetensors: damaged: checksum"));
    test::error_of(ExitCode::kCheckpoint, [&] {
        test::run(config, {.resume = ResumeKind::kPath, .path = (folder / "nothing").string()});
    });
    CHECK(test::run(config, {.resume = ResumeKind::kAuto}).summary.attempted == 4);
    CHECK(test::weights_of(folder / "run", 4) == good);
    CHECK_THAT(test::file_text(folder / "run/log.txt"),
               Catch::Contains("damaged: checksum") && Catch::Contains("at update 3"));
    CHECK(test::column(rows_of(folder / "run", "train"), "step") ==
          std::vector<std::string>{"1", "2", "3", "4"});
}

TEST_CASE("H32: another number of classes or depth is exit 5; partial loading is asked for and listed") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.train.steps = 1;
    test::run(config);
    const std::string checkpoint = test::checkpoint_at(folder / "run", 1).string();

    RunConfig wider = test::small_config(folder / "wider");
    wider.model.num_classes = 6;
    wider.train.steps = 1;
    const std::string text = test::error_of(
        ExitCode::kCheckpoint, [&] { test::run(wider, {.resume = ResumeKind::kPath, .path = checkpoint}); });
    CHECK_THAT(text, Catch::Contains("fc.weight") && Catch::Contains("[4x64]") && Catch::Contains("[6x64]") &&
                         Catch::Contains("2 tensors do not fit"));
    RunConfig deeper = test::small_config(folder / "deeper");
    deeper.model.depth = 32;
    test::error_of(ExitCode::kCheckpoint,
                   [&] { test::run(deeper, {.resume = ResumeKind::kPath, .path = checkpoint}); });

    wider.output_dir = (folder / "wider2").string();
    wider.checkpoint.init_from = checkpoint + "/weights.safetensors";
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [&] { test::run(wider); }),
               Catch::Contains("checkpoint.init_partial"));
    wider.output_dir = (folder / "wider3").string();
    wider.checkpoint.init_partial = true;
    test::run(wider);
    CHECK_THAT(test::file_text(folder / "wider3/log.txt"),
               Catch::Contains("not loaded: fc.weight") && Catch::Contains("not loaded: fc.bias"));
}

TEST_CASE("starting weights are the file's, and eval says what training said") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.train.steps = 2;
    const TrainResult trained = test::run(config);
    const fs::path checkpoint = test::checkpoint_at(folder / "run", 2);
    const auto evaluation = evaluate_checkpoint(config, checkpoint.string(), nullptr);
    CHECK(evaluation->loss == trained.summary.evaluation->loss);
    CHECK(evaluation->top1 == trained.summary.evaluation->top1);

    RunConfig second = test::small_config(folder / "second");
    second.train.steps = 1;
    second.optimizer.lr = 0;
    second.optimizer.momentum = 0;
    second.checkpoint.init_from = checkpoint.string();
    test::run(second);
    const SafetensorsFile a(checkpoint / "weights.safetensors");
    const SafetensorsFile b(test::checkpoint_at(folder / "second", 1) / "weights.safetensors");
    CHECK(a.read(*a.find("layer1.0.conv1.weight")) == b.read(*b.find("layer1.0.conv1.weight")));
    CHECK(a.read(*a.find("fc.bias")) == b.read(*b.find("fc.bias")));
}

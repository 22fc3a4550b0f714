// The loop: windows (H04), epochs (H33), divergence (H36), schedule (H37), few classes (H38), damage of the
// directory (H29), and what a stop leaves behind (H35).
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <thread>

#include "support/errors.h"
#include "support/process.h"
#include "support/small_run.h"
#include "support/small_text_run.h"

using namespace mpt;
using test::rows_of;
namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> files_under(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files[entry.path().string()] = test::file_text(entry.path());
    return files;
}

// Trains, and asks to stop as SIGTERM does once so many bytes of metrics are written.
TrainResult run_until_written(const RunConfig& config, std::uintmax_t bytes) {
    StopFlag flag;
    std::atomic<bool> over = false;
    std::thread stopper([&] {
        const fs::path metrics = fs::path(config.output_dir) / "metrics.jsonl";
        while (!over && (!fs::exists(metrics) || fs::file_size(metrics) < bytes))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        flag.signal = SIGTERM;
    });
    const TrainResult result = test::run(config, {.stop = &flag});
    over = true;
    stopper.join();
    return result;
}

}  // namespace

TEST_CASE("H04: 10 samples in micro-batches of 2, four a window, are two updates an epoch") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.data.num_samples = 10;
    config.data.shuffle = false;
    config.data.drop_last = false;
    config.train.batch_size = 8;
    config.train.accumulate = 4;
    config.train.steps.reset();
    config.train.epochs = 2;
    config.schedule.type = ScheduleType::kStep;
    config.schedule.milestones = {{1, DurationUnit::kEpochs}};
    test::run(config);
    const test::Rows rows = rows_of(folder / "run", "train");
    REQUIRE(rows.size() == 4);
    CHECK(test::column(rows, "epoch") == std::vector<std::string>{"1", "1", "2", "2"});
    CHECK(rows[1]["lr"].get<double>() == Approx(0.05));
    CHECK(rows[2]["lr"].get<double>() == Approx(0.005));  // two updates are one epoch to the schedule
    CHECK(rows_of(folder / "run", "eval").size() == 1);
}

TEST_CASE("H29: a second run needs a word; overwrite and resume do what they say") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.train.steps = 2;
    test::run(config);
    const auto before = files_under(folder / "run");
    const std::string text = test::error_of(ExitCode::kUsage, [&] { test::run(config); });
    CHECK_THAT(text, Catch::Contains((folder / "run").string()) && Catch::Contains("--resume") &&
                         Catch::Contains("--overwrite"));
    CHECK(files_under(folder / "run") == before);
    test::error_of(ExitCode::kUsage, [&] {
        test::run(config, {.resume = ResumeKind::kAuto, .existing = Existing::kOverwrite});
    });
    CHECK(files_under(folder / "run") == before);

    test::write_file(folder / "run/notes.txt", "mine");
    config.train.steps = 1;
    test::run(config, {.existing = Existing::kOverwrite});
    CHECK(rows_of(folder / "run", "train").size() == 1);
    CHECK_FALSE(fs::exists(test::checkpoint_at(folder / "run", 2)));
    CHECK(test::file_text(folder / "run/notes.txt") == "mine");

    config.train.steps = 3;
    CHECK(test::run(config, {.resume = ResumeKind::kAuto}).summary.attempted == 3);
    CHECK(test::column(rows_of(folder / "run", "train"), "step") == std::vector<std::string>{"1", "2", "3"});
}

TEST_CASE("H33: a run resumed at, before and after the end of an epoch trains each epoch once") {
    const test::ScratchFolder folder;
    for (const int stop_at : {4, 5, 6}) {  // 5 updates an epoch
        const fs::path output = folder / ("stop" + std::to_string(stop_at));
        RunConfig config = test::small_config(output);
        config.train.steps = stop_at;
        test::run(config);
        config.train.steps.reset();
        config.train.epochs = 3;
        const TrainResult result = test::run(config, {.resume = ResumeKind::kAuto});
        CHECK(result.summary.attempted == 15);
        CHECK(result.summary.end == "done");
        const test::Rows rows = rows_of(output, "train");
        REQUIRE(rows.size() == 15);
        for (int i = 0; i < 15; ++i) {
            CHECK(rows[static_cast<std::size_t>(i)]["step"] == i + 1);
            CHECK(rows[static_cast<std::size_t>(i)]["epoch"] == i / 5 + 1);
        }
    }
}

TEST_CASE("H36: f32 with an absurd rate stops with exit 4 and never saves what is not finite") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.optimizer.lr = 1e12;
    config.train.steps = 200;
    config.train.max_nonfinite = 5;
    config.checkpoint.every = {1, DurationUnit::kUpdates};
    const std::string text = test::error_of(ExitCode::kDivergence, [&] { test::run(config); });
    CHECK_THAT(text, Catch::Contains("diverged at update") && Catch::Contains("last finite loss") &&
                         Catch::Contains("cause: training itself diverged"));
    CHECK(rows_of(folder / "run", "train").size() < 100);
    CHECK_THAT(rows_of(folder / "run", "summary").at(0)["reason"].get<std::string>(),
               Catch::Contains("diverged"));
}

TEST_CASE("H36: finite losses and weights whose last evaluation is not finite are no success") {
    const test::ScratchFolder folder;
    test::write_file(folder / "text", test::small_text(40));
    RunConfig config = test::small_gpt_config(folder / "run", folder / "text");
    config.train.steps = 1;
    config.optimizer.lr = 1e38;
    CHECK_THAT(test::error_of(ExitCode::kDivergence, [&] { test::run(config); }),
               Catch::Contains("the run ended at update 1 with a loss of the last evaluation") &&
                   Catch::Contains("last finite loss 3.") && Catch::Contains("optimizer.lr"));
    CHECK(rows_of(folder / "run", "summary").at(0)["end"] == "diverged");
    CHECK_THAT(test::file_text(folder / "run/log.txt"),
               !Catch::Contains("-nan") && Catch::Contains("loss nan"));

    // The same when the rule of early stopping ends it.
    config.output_dir = (folder / "early").string();
    config.train.steps = 50;
    config.train.max_nonfinite = 50;
    config.train.eval_every = {1, DurationUnit::kUpdates};
    config.train.early_stop = 1;
    CHECK_THAT(test::error_of(ExitCode::kDivergence, [&] { test::run(config); }),
               Catch::Contains("the run ended at update 1 with a loss of the last evaluation"));

    // Its weights evaluate to the same.
    const test::Finished evaluated =
        test::Process(folder.path(), {"eval", "--checkpoint", (folder / "run").string()}).wait();
    CAPTURE(evaluated.out);
    CHECK(evaluated.exit_code == 4);
    CHECK_THAT(evaluated.out, Catch::StartsWith("loss nan  perplexity nan"));
    CHECK_THAT(evaluated.err, Catch::Contains("step-00000001: the evaluation's loss is not finite"));
}

TEST_CASE("H37: the rate logged is the rate used, across epochs, to the end of the schedule") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.data.num_samples = 12;  // 3 updates an epoch
    config.train.steps = 12;
    config.optimizer.lr = 0.1;
    config.schedule.type = ScheduleType::kCosine;
    config.schedule.warmup = {5, DurationUnit::kUpdates};
    test::run(config);
    const test::Rows rows = rows_of(folder / "run", "train");
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(rows[i]["lr"].get<double>() == Approx(0.02 * static_cast<double>(i + 1)));
    for (std::size_t i = 5; i < 12; ++i) {
        CHECK(rows[i]["lr"].get<double>() < rows[i - 1]["lr"].get<double>());
        CHECK(rows[i]["lr"].get<double>() >= 0);
    }
}

TEST_CASE("H38: with three classes top-5 is 100 %") {
    const test::ScratchFolder folder;
    for (const std::int64_t classes : {1, 3}) {
        RunConfig config = test::small_config(folder / ("run" + std::to_string(classes)));
        config.model.num_classes = classes;
        config.train.steps = 1;
        CHECK(test::run(config).summary.evaluation->top5 == 1.0);
    }
}

TEST_CASE("H35: stopped before the first update, a run leaves nothing behind") {
    const test::ScratchFolder folder;
    StopFlag flag;
    flag.signal = 2;
    const TrainResult early = test::run(test::small_config(folder / "run"), {.stop = &flag});
    CHECK(early.signal == 2);
    CHECK_THAT(early.message, Catch::Contains("before the first update"));
    CHECK_FALSE(fs::exists(folder / "run"));
}

TEST_CASE("H35: a stop in the middle saves; the resumed run equals one that was not stopped") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "straight");
    config.train.steps = 12;
    config.train.eval_every = {3, DurationUnit::kUpdates};
    test::run(config);

    config.output_dir = (folder / "stopped").string();
    const TrainResult result = run_until_written(config, 700);
    REQUIRE(result.signal == SIGTERM);
    CHECK_THAT(result.message,
               Catch::Contains("stopped by SIGTERM after update") && Catch::Contains("--resume"));
    CHECK(rows_of(folder / "stopped", "summary").at(0)["end"] == "stopped");
    const auto at = static_cast<int>(result.summary.attempted);
    CHECK(at < 12);
    CHECK(fs::exists(test::checkpoint_at(folder / "stopped", at) / "manifest.json"));

    test::run(config, {.resume = ResumeKind::kAuto});
    CHECK(test::weights_of(folder / "straight", 12) == test::weights_of(folder / "stopped", 12));
    for (const char* kind : {"train", "eval"})
        for (const char* name : {"step", "loss", "top1"})
            CHECK(test::column(rows_of(folder / "straight", kind), name) ==
                  test::column(rows_of(folder / "stopped", kind), name));
}

TEST_CASE("H35: a stop within a long update drops it; the resumed run equals one that was not stopped") {
    const test::ScratchFolder folder;
    test::write_file(folder / "text", test::small_text(100));
    RunConfig config = test::small_gpt_config(folder / "straight", folder / "text");
    config.train.steps = 3;
    config.train.batch_size = 600;  // one window a micro-step: a second or more an update
    config.train.accumulate = 600;
    test::run(config);

    config.output_dir = (folder / "stopped").string();
    const TrainResult result = run_until_written(config, 100);
    CHECK(result.summary.attempted == 1);  // the second had begun
    CHECK_THAT(result.message, Catch::Contains("stopped by SIGTERM after update 1; checkpoint"));

    test::run(config, {.resume = ResumeKind::kAuto});
    CHECK(test::weights_of(folder / "straight", 3) == test::weights_of(folder / "stopped", 3));
    CHECK(test::column(rows_of(folder / "straight", "train"), "loss") ==
          test::column(rows_of(folder / "stopped", "train"), "loss"));
}

TEST_CASE("early stop counts evaluations without improvement") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.optimizer.lr = 1e-12;  // nothing ever changes
    config.optimizer.momentum = 0;
    config.model.norm_momentum = 1e-9;
    config.train.steps = 30;
    config.train.eval_every = {1, DurationUnit::kUpdates};
    config.train.early_stop = 3;
    const TrainResult result = test::run(config);
    CHECK(result.summary.end == "early_stop");
    CHECK(result.summary.attempted == 4);
    CHECK(result.summary.best_step == 1);
    CHECK(fs::exists(test::checkpoint_at(folder / "run", 4)));
    CHECK(fs::read_symlink(folder / "run/checkpoints/best") == "step-00000001");
}

// What a checkpoint of pictures says of its data: constants and class names, which evaluations and resumed
// runs take, and a fingerprint, by which changed data is told.
#include <catch2/catch.hpp>
#include <filesystem>

#include "backends/cuda/host_twin/host_twin.h"
#include "core/error.h"
#include "support/errors.h"
#include "support/pictures.h"
#include "support/small_run.h"
#include "train/checkpoint.h"
#include "train/evaluator.h"
#include "train/run_setup.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

void write_picture(const fs::path& path, int brightness) {
    fs::create_directories(path.parent_path());
    TestPicture picture{10, 10, 3, PictureBytes(300)};
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
        picture.pixels[i] = static_cast<std::uint8_t>(brightness + static_cast<int>(i * 7 % 23));
    const PictureBytes bytes = test::encode_png(picture);
    write_file(path, std::string(bytes.begin(), bytes.end()));
}

// Classes a, b, c of four pictures each to train on, and of two to evaluate on.
RunConfig picture_config(const ScratchFolder& folder) {
    for (const auto& [name, brightness] : {std::pair("a", 20), std::pair("b", 90), std::pair("c", 170)}) {
        for (int i = 0; i < 4; ++i)
            write_picture(folder / "data/train" / name / (std::string(name) + std::to_string(i) + ".png"),
                          brightness + 5 * i);
        for (int i = 0; i < 2; ++i)
            write_picture(folder / "data/val" / name / (std::to_string(i) + ".png"), brightness + 7 * i);
    }
    RunConfig config = small_config(folder / "run");
    config.data.type = DataType::kImageFolder;
    config.data.path = (folder / "data").string();
    config.data.channels = 3;
    config.model.num_classes = 3;
    config.train.steps = 3;  // an epoch
    return config;
}

std::string log_of(const ScratchFolder& folder) {
    return file_text(folder / "run/log.txt");
}

}  // namespace

TEST_CASE("an evaluation takes the checkpoint's constants and classes, and opens no training picture") {
    const ScratchFolder folder;
    const RunConfig config = picture_config(folder);
    const TrainResult trained = run(config);
    const std::string checkpoint = checkpoint_at(folder / "run", 3).string();
    const ChannelStatistics measured =
        normalization_of(config, *open_source(source_options(config, Split::kTrain)).source, {});
    const TrainingState state = read_checkpoint(checkpoint).state;
    CHECK(state.normalization.mean == measured.mean);
    CHECK(state.normalization.stddev == measured.stddev);

    std::vector<std::string> notices;
    write_file(folder / "data/train/a/a0.png", "no picture");
    write_picture(folder / "data/train/b/b0.png", 250);
    CHECK(evaluate_checkpoint(config, checkpoint, nullptr, &notices)->loss ==
          trained.summary.evaluation->loss);
    fs::remove_all(folder / "data/train");
    CHECK(evaluate_checkpoint(config, checkpoint, nullptr, &notices)->loss ==
          trained.summary.evaluation->loss);
    CHECK(notices.empty());
    // Constants that the config gives are its own.
    RunConfig given = config;
    given.data.augment.normalize.kind = NormalizeKind::kOff;
    CHECK(evaluate_checkpoint(given, checkpoint, nullptr)->loss != trained.summary.evaluation->loss);
}

TEST_CASE("a checkpoint without constants is evaluated with those of the training pictures, and says so") {
    const ScratchFolder folder;
    const RunConfig config = picture_config(folder);
    const TrainResult trained = run(config);
    // As an older version wrote it: no such fields.
    Checkpoint old = read_checkpoint(checkpoint_at(folder / "run", 3));
    auto json = nlohmann::json::parse(to_json(old.state));
    json.erase("normalization");
    json.erase("data");
    const TrainingState back = training_state_from_json(json.dump(), "state.json");
    CHECK(back.normalization.mean.empty());
    CHECK(back.data.training.num_samples == 12);
    CHECK(back.data.training.fingerprint == 0);
    TrainedWith older;
    older.checkpoint = "RUN/step-3";
    older.class_names = back.class_names;
    older.only_evaluated = true;
    const auto data = open_data(config, older);
    CHECK(data->description.mean == old.state.normalization.mean);
    REQUIRE(data->warnings.size() == 1);
    CHECK_THAT(data->warnings[0],
               Catch::StartsWith("RUN/step-3: does not say what its images were normalised"));
    fs::remove_all(folder / "data/train");
    const std::string what = error_of(ExitCode::kData, [&] { open_data(config, older); });
    CHECK_THAT(what, Catch::Contains("has no folder train") && !Catch::Contains("synthetic"));
}

TEST_CASE("an evaluation on other folders names the checkpoint and its classes") {
    const ScratchFolder folder;
    RunConfig config = picture_config(folder);
    run(config);
    const std::string checkpoint = checkpoint_at(folder / "run", 3).string();
    write_picture(folder / "other/val/b/x.png", 95);
    config.data.path = (folder / "other").string();
    std::vector<std::string> notices;
    const auto row = evaluate_checkpoint(config, checkpoint, nullptr, &notices);
    CHECK(row->samples == 1);
    REQUIRE(notices.size() == 1);
    CHECK_THAT(notices[0], Catch::Contains("other/val: no pictures of 2 of the 3 classes: a, c"));
    write_picture(folder / "other/val/dog/x.png", 95);
    const auto evaluate = [&] { evaluate_checkpoint(config, checkpoint, nullptr); };
    CHECK_THAT(
        error_of(ExitCode::kData, evaluate),
        Catch::Contains("other/val/dog: " + checkpoint + " was trained without a class of this name") &&
            Catch::Contains("its classes (a, b, c)") && Catch::Contains("leave it out"));
    fs::remove_all(folder / "other/val/dog");
    config.model.num_classes = 2;
    CHECK_THAT(error_of(ExitCode::kData, evaluate),
               Catch::Contains(checkpoint + ": was trained with 3 classes (a, b, c)"));
}

TEST_CASE("a run that goes on names the classes that are gone and those that came") {
    const ScratchFolder folder;
    RunConfig config = picture_config(folder);
    run(config);
    const std::string checkpoint = checkpoint_at(folder / "run", 3).string();
    config.train.steps = 5;  // an epoch more, of two updates
    const auto resume = [&] { run(config, {.resume = ResumeKind::kAuto}); };
    const auto refused = [&] {
        const std::string text = error_of(ExitCode::kCheckpoint, resume);
        CHECK_THAT(text, Catch::StartsWith(checkpoint + ": was trained with other classes") &&
                             Catch::Contains("--init-from") && !Catch::Contains("num_classes"));
        return text;
    };
    const fs::path train = folder / "data/train";
    write_picture(train / "d/d0.png", 210);
    CHECK_THAT(refused(), Catch::Contains("has: new: d; make them the same or"));
    fs::rename(train / "b", folder / "b");
    CHECK_THAT(refused(), Catch::Contains("has: gone since: b; new: d; "));
    fs::remove_all(train / "d");
    CHECK_THAT(refused(), Catch::Contains("has: gone since: b; ") && Catch::Contains("data.empty_classes"));
    // The others keep their numbers: a is 0, c is 2.
    config.data.empty_classes = OnEmptyClass::kAllow;
    resume();
    CHECK(read_checkpoint(checkpoint_at(folder / "run", 5)).state.class_names ==
          std::vector<std::string>{"a", "b", "c"});
    fs::remove_all(folder / "data/val/b");
    config.model.num_classes = 2;  // another model is refused by its tensors, as ever
    config.train.steps = 9;
    CHECK_THAT(error_of(ExitCode::kCheckpoint, resume), Catch::Contains("fc."));
}

TEST_CASE("a resumed run keeps its constants whatever the training folder holds now") {
    const ScratchFolder folder;
    RunConfig config = picture_config(folder);
    run(config);
    const ChannelStatistics then = read_checkpoint(checkpoint_at(folder / "run", 3)).state.normalization;
    write_picture(folder / "data/train/a/a0.png", 230);  // the same name
    config.train.steps = 6;
    run(config, {.resume = ResumeKind::kAuto});
    CHECK(read_checkpoint(checkpoint_at(folder / "run", 6)).state.normalization.mean == then.mean);
    CHECK_THAT(log_of(folder), !Catch::Contains("is not the checkpoint's"));
}

TEST_CASE("renamed, moved and lost pictures are told at an epoch's end and refused within one") {
    const ScratchFolder folder;
    RunConfig config = picture_config(folder);
    config.train.steps = 4;  // one into the second epoch
    run(config);
    const auto resume = [&] { run(config, {.resume = ResumeKind::kAuto}); };
    const fs::path train = folder / "data/train";
    const auto refused = [&] { return error_of(ExitCode::kCheckpoint, resume); };
    config.train.steps = 5;
    fs::rename(train / "a/a0.png", train / "a/z9.png");
    CHECK_THAT(refused(), Catch::Contains("in the middle of an epoch over other training data: 12 samples as "
                                          "then, but some have other names or other classes"));
    fs::rename(train / "a/z9.png", train / "b/a0.png");  // its old name in another class
    CHECK_THAT(refused(), Catch::Contains("other classes"));
    fs::remove(train / "b/a0.png");
    CHECK_THAT(refused(), Catch::Contains("in the middle of an epoch of 12 samples, the data has 11"));
    write_picture(train / "a/a0.png", 20);
    fs::rename(folder / "data/val/a/1.png", folder / "data/val/b/7.png");
    resume();
    CHECK_THAT(log_of(folder),
               Catch::Contains("the validation data is not the checkpoint's: 6 samples as then") &&
                   !Catch::Contains("the training data is not"));
    config.train.steps = 6;  // to the epoch's end
    resume();
    fs::rename(train / "c/c1.png", train / "b/c1.png");
    config.train.steps = 7;
    resume();
    CHECK_THAT(log_of(folder),
               Catch::Contains("the training data is not the checkpoint's: 12 samples as then"));
}

TEST_CASE("the fingerprint is that of names and classes, wherever the folder lies") {
    const ScratchFolder folder;
    RunConfig config = picture_config(folder);
    const DataIdentity here = open_data(config)->identity();
    CHECK(here.training.num_samples == 12);
    CHECK(here.validation.num_samples == 6);
    CHECK(here.training.fingerprint != here.validation.fingerprint);
    fs::rename(folder / "data", folder / "moved");
    config.data.path = (folder / "moved").string();
    CHECK(open_data(config)->identity().training.fingerprint == here.training.fingerprint);
    config.data.train_limit = 6;
    CHECK(open_data(config)->identity().training.fingerprint != here.training.fingerprint);
    CHECK(open_data(config)->identity().validation.fingerprint == here.validation.fingerprint);
}

TEST_CASE("a broken picture ends a run after its updates are saved, and the run goes on from there") {
    const ScratchFolder folder;
    RunConfig config = picture_config(folder);
    config.train.steps = 6;
    // Of two: the first half of the third update has been computed, and is in no checkpoint.
    config.train.accumulate = GENERATE(1, 2);
    gpu::HostTwin device(false, gpu::TwinOrder::kSecondStreamAhead);
    std::function<RunsOn()> where;
    if (GENERATE(false, true)) where = [&] { return runs_on(cuda_host_kernels(), device); };
    config.data.shuffle = false;
    config.data.augment.normalize.kind = NormalizeKind::kOff;  // else all are decoded before the first update
    RunConfig straight = config;
    straight.output_dir = (folder / "straight").string();
    run(straight, {.runs_on = where});
    const std::string good = file_text(folder / "data/train/c/c3.png");  // the last of an epoch
    write_file(folder / "data/train/c/c3.png", "no picture");
    const auto start = [&](ResumeKind resume) { run(config, {.resume = resume, .runs_on = where}); };
    const std::string what = error_of(ExitCode::kData, [&] { start(ResumeKind::kNo); });
    CHECK_THAT(what, Catch::Contains("c3.png: is no JPEG") && Catch::Contains("data.broken: skip") &&
                         Catch::Contains("step-00000002 holds all 2 updates"));
    CHECK_THAT(log_of(folder), Catch::Contains("step-00000002 holds all 2 updates"));
    write_file(folder / "data/train/c/c3.png", good);
    start(ResumeKind::kAuto);
    CHECK(column(rows_of(folder / "run", "train"), "loss") ==
          column(rows_of(folder / "straight", "train"), "loss"));
    CHECK(weights_of(folder / "run", 6) == weights_of(folder / "straight", 6));
}

TEST_CASE("broken validation pictures cost no update, and the evaluation is made up for") {
    const ScratchFolder folder;
    const RunConfig config = picture_config(folder);
    const std::string good = file_text(folder / "data/val/b/1.png");
    write_file(folder / "data/val/b/1.png", "no picture");
    CHECK_THAT(error_of(ExitCode::kData, [&] { run(config); }),
               Catch::Contains("val/b/1.png") && Catch::Contains("step-00000003 holds all 3 updates"));
    write_file(folder / "data/val/b/1.png", good);
    const TrainResult resumed = run(config, {.resume = ResumeKind::kAuto});
    CHECK(resumed.summary.step == 3);
    CHECK(rows_of(folder / "run", "eval").size() == 1);
    CHECK(rows_of(folder / "run", "train").size() == 3);
}

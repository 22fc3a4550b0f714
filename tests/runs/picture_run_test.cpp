// The same images from IDX files, from an image folder of PNGs and from shards of it: the same losses and
// weights, to the bit. And the policies of broken pictures and of classes in whole runs.
#include <catch2/catch.hpp>
#include <filesystem>

#include "dataset/pictures/pack.h"
#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/pictures.h"
#include "support/small_run.h"
#include "train/evaluator.h"
#include "train/run_setup.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

RunConfig idx_config(const DataFolder& folder, const fs::path& output) {
    RunConfig config = small_config(output);
    config.data.type = DataType::kIdx;
    config.data.path = folder.path();
    config.data.image_size.reset();
    config.data.channels.reset();
    config.data.augment.crop_padding = 1;
    config.data.augment.horizontal_flip = true;
    config.data.augment.random_erasing = 0.3;
    config.data.drop_last = false;
    config.model.num_classes = 10;
    config.train.steps.reset();
    config.train.epochs = 2;
    config.train.batch_size = 8;
    return config;
}

void write_idx_set(const DataFolder& folder) {
    folder.write("train-images-idx3-ubyte", idx_images(30, 8, 8));
    folder.write("train-labels-idx1-ubyte", idx_labels(30));
    folder.write("t10k-images-idx3-ubyte", idx_images(20, 8, 8));
    folder.write("t10k-labels-idx1-ubyte", idx_labels(20));
}

void export_set(const RunConfig& config, const std::string& output) {
    const OpenedSource train = open_source(source_options(config, Split::kTrain));
    const OpenedSource test = open_source(source_options(config, Split::kTest));
    const ExportSplit splits[] = {{"train", train.source.get()}, {"val", test.source.get()}};
    export_images(splits, {output, ExportFormat::kPng, 95}, {});
}

RunConfig picture_config(RunConfig config, DataType type, const fs::path& data, const fs::path& output) {
    config.data.type = type;
    config.data.path = data.string();
    config.data.image_size = 8;
    config.data.channels = 1;
    config.output_dir = output.string();
    return config;
}

}  // namespace

TEST_CASE("a folder of PNGs and its shards train to the bit as the IDX files") {
    const DataFolder folder;
    write_idx_set(folder);
    const ScratchFolder scratch;
    const RunConfig idx = idx_config(folder, scratch / "idx");
    export_set(idx, (scratch / "png").string());
    PackOptions pack;
    pack.input = (scratch / "png").string();
    pack.output = (scratch / "shards").string();
    pack.shard_bytes = 4000;
    pack_folder(pack, {});
    RunConfig png = picture_config(idx, DataType::kImageFolder, scratch / "png", scratch / "run_png");
    png.data.workers = 2;
    RunConfig shards = picture_config(idx, DataType::kShards, scratch / "shards", scratch / "run_shards");
    shards.data.workers = 3;
    for (const RunConfig& config : {idx, png, shards}) run(config);
    const std::vector<std::string> losses = column(rows_of(scratch / "idx", "train"), "loss");
    const std::vector<std::string> test_losses = column(rows_of(scratch / "idx", "eval"), "loss");
    CHECK(losses.size() == 8);
    for (const char* name : {"run_png", "run_shards"}) {
        CHECK(column(rows_of(scratch / name, "train"), "loss") == losses);
        CHECK(column(rows_of(scratch / name, "eval"), "loss") == test_losses);
        CHECK(weights_of(scratch / name, 8) == weights_of(scratch / "idx", 8));
    }
}

TEST_CASE("H31: pictures with every augmentation, mixed, resume to the bit, whatever the workers") {
    const DataFolder folder;
    write_idx_set(folder);
    const ScratchFolder scratch;
    const RunConfig idx = idx_config(folder, scratch / "idx");
    export_set(idx, (scratch / "png").string());
    RunConfig straight = picture_config(idx, DataType::kImageFolder, scratch / "png",
                                        scratch / "straight");  // 4 updates an epoch
    AugmentConfig& augment = straight.data.augment;
    augment.random_resized_crop = true;
    augment.color_jitter = {0.4, 0.4};
    augment.rand_augment = 9;
    augment.mixup = 0.4;
    augment.cutmix = 1;
    straight.train.label_smoothing = 0.1;
    straight.train.epochs.reset();
    straight.train.steps = 8;
    run(straight);
    RunConfig stopped = straight;
    stopped.output_dir = (scratch / "stopped").string();
    stopped.data.workers = 3;
    for (const int steps : {3, 4, 8}) {  // in the middle and at the end of an epoch
        stopped.train.steps = steps;
        run(stopped, {.resume = steps == 3 ? ResumeKind::kNo : ResumeKind::kAuto});
    }
    CHECK(column(rows_of(scratch / "stopped", "train"), "loss") ==
          column(rows_of(scratch / "straight", "train"), "loss"));
    CHECK(weights_of(scratch / "stopped", 8) == weights_of(scratch / "straight", 8));
    // And mixing is there.
    RunConfig plain = straight;
    plain.output_dir = (scratch / "plain").string();
    plain.data.augment.mixup = plain.data.augment.cutmix = 0;
    run(plain);
    CHECK(column(rows_of(scratch / "plain", "train"), "loss") !=
          column(rows_of(scratch / "straight", "train"), "loss"));
}

TEST_CASE("broken pictures are left out of a run, and named in its log") {
    const DataFolder folder;
    write_idx_set(folder);
    const ScratchFolder scratch;
    const RunConfig idx = idx_config(folder, scratch / "idx");
    export_set(idx, (scratch / "png").string());
    write_file(scratch / "png/train/3/33.png", "no picture");
    RunConfig config = picture_config(idx, DataType::kImageFolder, scratch / "png", scratch / "run");
    CHECK_THAT(error_of(ExitCode::kData, [&] { run(config); }),
               Catch::Contains("train/3/33.png") && Catch::Contains("data.broken: skip"));
    config.data.broken = OnBroken::kSkip;
    config.output_dir = (scratch / "run2").string();
    run(config);
    const std::string log = file_text(scratch / "run2/log.txt");
    CHECK_THAT(log, Catch::Contains("33.png: is no JPEG, PNG or WebP picture; skipped") &&
                        Catch::Contains("1 bad files skipped, 30 used per epoch"));
}

TEST_CASE("a checkpoint's classes hold: evaluation maps by name, other classes do not resume") {
    const DataFolder folder;
    write_idx_set(folder);
    const ScratchFolder scratch;
    RunConfig idx = idx_config(folder, scratch / "idx");
    export_set(idx, (scratch / "png").string());
    RunConfig config = picture_config(idx, DataType::kImageFolder, scratch / "png", scratch / "run");
    run(config);
    const std::string checkpoint = checkpoint_at(scratch / "run", 8).string();
    const double loss = evaluate_checkpoint(config, checkpoint, nullptr)->loss;
    fs::rename(scratch / "png/train/0", scratch / "png/train/z");
    config.train.epochs = 3;
    CHECK_THAT(error_of(ExitCode::kCheckpoint, [&] { run(config, {.resume = ResumeKind::kAuto}); }),
               Catch::StartsWith(checkpoint + ": was trained with other classes than ") &&
                   Catch::Contains("png/train has: gone since: 0; new: z; make them the same"));
    fs::rename(scratch / "png/train/z", scratch / "png/train/0");
    CHECK(evaluate_checkpoint(config, checkpoint, nullptr)->loss == loss);
}

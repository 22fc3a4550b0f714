// Reading configs that are right: values, defaults, --set, paths, the echo. Reference: the structs' own
// defaults and values written out by hand.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "config/read.h"
#include "support/config_text.h"

using namespace mpt;

namespace {

// Every kind of key away from its default.
constexpr const char* kFull = R"(
name: "two words"
seed: 9223372036854775807
device: cuda:3
output_dir: out
threads: 4
model: {type: resnet, depth: 56, num_classes: 100, zero_init_residual: true, norm_momentum: 0.03, norm_epsilon: 1e-3}
precision:
  mode: amp_fp16
  fallback: true
  overrides:
    - {match: "layer4.*", dtype: f32}
    - {match: '*.bn?"', dtype: bf16}
  loss_scale: {preset: megatron, init: 4096, growth_factor: 4, growth_interval: 7, backoff: .25, hysteresis: 3,
               hysteresis_refill: consecutive, floor: none, ceiling: 1e6, max_skips_at_floor: 9, at_floor: clamp}
data:
  type: idx
  path: ../data
  image_size: 32
  train_limit: 1000
  eval_limit: 500
  shuffle: false
  drop_last: FALSE
  workers: 0
  prefetch: 5
  if_missing: synthetic
  augment: {crop_padding: 2, horizontal_flip: true, normalize: {mean: [0.1, 0.2, 0.3], std: [1, .5, 1e-3]}}
train: {steps: 77, batch_size: 96, accumulate: 4, eval_batch_size: 50, label_smoothing: 0.1, eval_every: 2.5 epochs,
        log_every: 3, early_stop: 6, warmup_steps: 0, max_nonfinite: 2}
optimizer: {type: lars, lr: 3.5, momentum: 0.8, nesterov: true, weight_decay: 1e-4, exclude_from_decay: [bias],
            clip_norm: 1.5, ema: 0.999, trust_coefficient: 0.02}
schedule: {type: step, warmup: 1 epoch, milestones: [20 epochs, 25.5 epochs], gamma: 0.3, min_lr: 1e-5}
checkpoint: {every: 50, keep: all, best: loss, init_from: /w.safetensors, init_partial: true}
memory: {recompute: blocks, limit: 1.5 GiB, huge_pages: false}
deterministic: true
autotune: {mode: heuristic, workspace_mib: 64}
log: {console: plain}
debug: {dump_graph: true, skip_passes: [fuse, simplify], reference_kernels: true}
)";

}  // namespace

TEST_CASE("a config that says one thing has defaults for all others") {
    const RunConfig config = read_text("seed: 5").config;
    RunConfig expected;
    expected.seed = 5;
    expected.name = "run";
    expected.output_dir = std::filesystem::current_path().string() + "/runs/run";
    expected.train.epochs = 1;
    CHECK(config == expected);
}

TEST_CASE("every kind of key is read") {
    const RunConfig config = read_text(kFull).config;
    CHECK(config.name == "two words");
    CHECK(config.seed == 9223372036854775807u);
    CHECK(config.device == "cuda:3");
    CHECK(config.output_dir == "/cfg/out");
    CHECK(config.threads == 4);
    ModelConfig model;
    model.depth = 56;
    model.num_classes = 100;
    model.zero_init_residual = true;
    model.norm_momentum = 0.03;
    model.norm_epsilon = 1e-3;
    CHECK(config.model == model);
    CHECK(config.precision.mode == PrecisionMode::kAmpFp16);
    CHECK(config.precision.overrides ==
          std::vector<PrecisionOverride>{{"layer4.*", DType::f32}, {"*.bn?\"", DType::bf16}});
    CHECK(config.precision.loss_scale == LossScaleConfig{LossScalePreset::kMegatron, 4096, 4, 7, 0.25, 3,
                                                         HysteresisRefill::kConsecutive, 0, 1e6, 9,
                                                         AtFloor::kClamp});
    CHECK(config.data.path == "/data");
    CHECK(config.data.image_size == 32);
    CHECK_FALSE(config.data.drop_last);
    AugmentConfig augment;
    augment.crop_padding = 2;
    augment.horizontal_flip = true;
    augment.normalize = {NormalizeKind::kGiven, {0.1, 0.2, 0.3}, {1, 0.5, 1e-3}};
    CHECK(config.data.augment == augment);
    CHECK(config.train.steps == 77);
    CHECK_FALSE(config.train.epochs);
    CHECK(config.train.micro_batch() == 24);
    CHECK(config.train.eval_every == Duration{2.5, DurationUnit::kEpochs});
    CHECK(config.optimizer.type == OptimizerType::kLars);
    CHECK(config.optimizer.exclude_from_decay == std::vector<ParameterKind>{ParameterKind::kBias});
    CHECK(config.schedule.milestones ==
          std::vector<Duration>{{20, DurationUnit::kEpochs}, {25.5, DurationUnit::kEpochs}});
    CHECK(config.checkpoint ==
          CheckpointConfig{
              {50, DurationUnit::kUpdates}, std::nullopt, BestMetric::kLoss, "/w.safetensors", true});
    CHECK(config.memory == MemoryConfig{Recompute::kBlocks, 1610612736, false});
    CHECK(config.deterministic);
    CHECK(config.autotune == AutotuneConfig{AutotuneMode::kHeuristic, 64});
    CHECK(config.log.console == ConsoleStyle::kPlain);
    CHECK(config.debug == DebugConfig{true, {"fuse", "simplify"}, true});
}

TEST_CASE("the echo reads back to the same config, and that to the same echo") {
    for (const std::string text :
         {kFull, "seed: 1", "optimizer: {type: adamw, momentum: 0.5, exclude_from_decay: []}",
          "name: 'a\"b\\c: #{x} ä'\ntrain: {early_stop: 3, eval_every: 7}\n",
          "checkpoint: {every: never}\nschedule: {type: poly, length: 3 epochs}"}) {
        const ReadConfig first = read_text(text);
        const ReadConfig second = read_config_text(first.resolved, "elsewhere.yaml", "/somewhere/else");
        INFO(first.resolved);
        CHECK(second.config == first.config);
        CHECK(second.resolved == first.resolved);
    }
    CHECK(echo(read_text("optimizer: {lr: 1e-4}").config).find("\n  lr: 0.0001\n") != std::string::npos);
}

TEST_CASE("--set replaces the file, the last one wins") {
    const RunConfig config =
        read_text(
            "train: {epochs: 5, batch_size: 8}\nprecision: {mode: fp32}",
            {"train.batch_size=64", "train.batch_size=32", "precision.mode=amp_fp16", "name=a b #c",
             "precision.loss_scale={preset: static, init: 128}", "optimizer.exclude_from_decay=[]",
             "data.augment.normalize={mean: 0.5, std: 0.25}", "schedule.warmup=3 epochs", "device='cpu'"})
            .config;
    CHECK(config.train.batch_size == 32);
    CHECK(config.train.epochs == 5);
    CHECK(config.precision.mode == PrecisionMode::kAmpFp16);
    CHECK(config.precision.loss_scale.preset == LossScalePreset::kStatic);
    CHECK(config.precision.loss_scale.init == 128.0);
    CHECK(config.optimizer.exclude_from_decay.empty());
    CHECK(config.data.augment.normalize == NormalizeConfig{NormalizeKind::kGiven, {0.5}, {0.25}});
    CHECK(config.schedule.warmup == Duration{3, DurationUnit::kEpochs});
    CHECK(config.name == "a b #c");
    CHECK(config.device == "cpu");
}

TEST_CASE("--set of epochs takes the place of the file's steps, and the other way round") {
    const RunConfig steps = read_text("train: {epochs: 5}", {"train.steps=20"}).config;
    CHECK(steps.train.steps == 20);
    CHECK_FALSE(steps.train.epochs);
    const RunConfig epochs = read_text("train: {steps: 5}", {"train.epochs=2"}).config;
    CHECK(epochs.train.epochs == 2);
    CHECK_FALSE(epochs.train.steps);
}

TEST_CASE("paths of a file start from its folder, those of --set from the working directory") {
    TemporaryFolder folder;
    const std::string file =
        folder.write("cfg/run.yaml", "data: {type: idx, path: ../data}\noutput_dir: ./out/\n");
    const std::string here = std::filesystem::current_path().string();
    for (const std::string& start : {folder.path().string(), std::string("/")}) {
        REQUIRE(::chdir(start.c_str()) == 0);
        const ReadConfig read = read_config(file, {"checkpoint.init_from=w.safetensors"});
        const std::string relative = std::filesystem::relative(file).string();
        const ReadConfig by_relative = read_config(relative, {});
        REQUIRE(::chdir(here.c_str()) == 0);
        CHECK(read.config.data.path == (folder.path() / "data").string());
        CHECK(read.config.output_dir == (folder.path() / "cfg/out").string());
        CHECK(read.config.checkpoint.init_from == (std::filesystem::path(start) / "w.safetensors").string());
        CHECK(by_relative.config.data.path == read.config.data.path);
        CHECK(read.resolved.find("path: " + (folder.path() / "data").string() + "\n") != std::string::npos);
    }
}

TEST_CASE("UTF-8 paths, BOM, CRLF, anchors and comments are read") {
    CHECK(read_text("data: {type: idx, path: 'my data/Ö 图片'}").config.data.path == "/cfg/my data/Ö 图片");
    CHECK(read_text("\xef\xbb\xbfseed: 7\r\ntrain:\r\n  epochs: 3\r\n").config.train.epochs == 3);
    CHECK(read_text("train: {batch_size: &n 16, eval_batch_size: *n}").config.train.eval_batch_size == 16);
    CHECK(read_text("data:\n  augment:  # all defaults\nseed: 2  # two\n").config.seed == 2);
    CHECK(read_text("%YAML 1.2\n---\nseed: 3\n...\n").config.seed == 3);
    CHECK(read_text("seed:\t3\t\n  \r\n").config.seed == 3);
}

TEST_CASE("the learning rate's default follows the optimizer") {
    CHECK(read_text("optimizer: {type: sgd}").config.optimizer.lr == 0.1);
    CHECK(read_text("optimizer: {type: lars}").config.optimizer.lr == 0.1);
    for (const char* type : {"adam", "adamw", "lamb"})
        CHECK(read_text(std::string("optimizer: {type: ") + type + "}").config.optimizer.lr == 0.001);
    CHECK(read_text("optimizer: {type: adam, lr: 0.1}").config.optimizer.lr == 0.1);
}

TEST_CASE("a duration in updates") {
    CHECK(updates_in({0, DurationUnit::kEpochs}, 10) == 0);
    CHECK(updates_in({5, DurationUnit::kUpdates}, 10) == 5);
    CHECK(updates_in({5, DurationUnit::kEpochs}, 10) == 50);
    CHECK(updates_in({0.25, DurationUnit::kEpochs}, 10) == 3);  // 2.5 rounds away from zero
    CHECK(updates_in({0.01, DurationUnit::kEpochs}, 10) == 1);
    CHECK(updates_in({1e12, DurationUnit::kEpochs}, std::int64_t{1} << 40) == std::int64_t{1} << 62);
}

TEST_CASE("memory limits have units") {
    const auto limit = [](const std::string& text) {
        return read_text("memory: {limit: " + text + "}").config.memory.limit_bytes;
    };
    CHECK(limit("1048576") == 1048576);
    CHECK(limit("512MiB") == 536870912);
    CHECK(limit("8 GiB") == 8589934592);
    CHECK(limit("0.5 GB") == 500000000);
    CHECK(limit("auto") == std::nullopt);
}

TEST_CASE("a path that need not be given can be taken back") {
    const std::string text =
        "model: {type: gpt}\ncheckpoint: {init_from: w}\n"
        "data: {type: text, path: t, validation_path: v, tokenizer: gpt2, tokenizer_path: p}";
    for (const char* word : {"none", "null"}) {
        const RunConfig config = read_text(text, {std::string("data.validation_path=") + word,
                                                  std::string("checkpoint.init_from=") + word})
                                     .config;
        CHECK(config.data.validation_path.empty());
        CHECK(config.checkpoint.init_from.empty());
        CHECK_FALSE(config.data.tokenizer_path.empty());
    }
    for (const char* null : {"", "~", "null"})
        CHECK(read_text(std::string("model: {type: gpt}\ndata: {type: text, path: t, validation_path: ") +
                        null + "}")
                  .config.data.validation_path.empty());
    CHECK_FALSE(fault_of(text, {"data.validation_path="}).empty());  // a shell's variable that is not set
    const RunConfig file = read_text("model: {type: gpt}\ndata: {type: text, path: ./none}").config;
    CHECK(file.data.path.ends_with("/none"));
}

TEST_CASE("data that the command line names is meant: nothing made up takes its place") {
    const std::string text = "model: {type: gpt}\ndata: {type: text, path: t, if_missing: synthetic}";
    CHECK(read_text(text).config.data.if_missing == IfMissing::kSynthetic);
    CHECK(read_text(text, {"data.path=u"}).config.data.if_missing == IfMissing::kError);
    CHECK(read_text(text, {"data.path=u", "data.if_missing=synthetic"}).config.data.if_missing ==
          IfMissing::kSynthetic);
    CHECK(read_text(text, {"data.path=none"}).config.data.if_missing == IfMissing::kSynthetic);
}

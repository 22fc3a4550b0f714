// Keys that change nothing where they stand: a warning each, by name.
#include <algorithm>
#include <catch2/catch.hpp>

#include "config/read.h"
#include "support/errors.h"

using namespace mpt;

namespace {

std::vector<std::string> warnings_of(const std::string& text, const std::vector<std::string>& set = {}) {
    return read_config_text(text, "c.yaml", "/", set).warnings;
}

void check_idle(const std::string& text, const std::string& key, const std::string& why) {
    const std::vector<std::string> warnings = warnings_of(text);
    CAPTURE(text, warnings);
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings.front(), Catch::Contains(key + ": has no effect ") && Catch::Contains(why));
}

const std::string kGpt = "model: {type: gpt}\ndata: {type: text, path: /t";
const std::string kPairs = "model: {type: transformer}\ndata: {type: parallel, path: /t";

}  // namespace

TEST_CASE("keys that do nothing on text are told by name") {
    check_idle(kGpt + ", image_size: 32}", "data.image_size", "pictures");
    check_idle(kGpt + ", augment: {crop_padding: 4}}", "data.augment.crop_padding", "pictures");
    check_idle(kGpt + ", augment: {horizontal_flip: true}}", "data.augment.horizontal_flip", "pictures");
    check_idle(kGpt + ", augment: {normalize: none}}", "data.augment.normalize", "pictures");
    check_idle(kGpt + ", workers: 4}", "data.workers", "training thread");
    check_idle(kGpt + ", prefetch: 4}", "data.prefetch", "training thread");
    check_idle(kGpt + ", shuffle: false}", "data.shuffle", "at random");
    check_idle(kGpt + ", num_samples: 10}", "data.num_samples", "data.train_limit");
    check_idle(kGpt + ", tokenizer: bytes, tokenizer_path: /x}", "data.tokenizer_path", "bytes");
    check_idle(kGpt + ", tokenizer_path: /x}", "data.tokenizer_path", "characters");
    check_idle(kGpt + ", sentencepiece_size: 100}", "data.sentencepiece_size", "is learned");
    check_idle(kGpt + ", validation_path: /v, validation_fraction: 0.2}", "data.validation_fraction",
               "validation files");
    check_idle("model: {type: gpt}\ndata: {type: tokens, path: /t, tokenizer: sentencepiece}",
               "data.tokenizer", "tokenizer_path");
    check_idle(kPairs + "}\ntrain: {batch_size: 64}", "train.batch_size", "train.batch_tokens");
    check_idle(kPairs + "}\ntrain: {eval_batch_size: 64}", "train.eval_batch_size", "train.batch_tokens");
    check_idle(kPairs + ", drop_last: false}", "data.drop_last", "pairs");
    check_idle(kPairs + ", sequence_length: 8}", "data.sequence_length", "data.max_tokens");
    check_idle(kPairs + ", tokenizer_path: /m, sentencepiece_size: 100}", "data.sentencepiece_size",
               "is learned");
    check_idle(kPairs + "}\ntranslation: {bleu: false, limit: 5}", "translation.limit", "translation.bleu");
    check_idle("checkpoint: {init_partial: true}", "checkpoint.init_partial", "checkpoint.init_from");
}

TEST_CASE("keys that do something are not warned of, nor are defaults in a resolved config") {
    CHECK(warnings_of(kGpt + ", train_limit: 5, eval_limit: 5, sequence_length: 8}").empty());
    CHECK(warnings_of(kGpt + ", tokenizer: sentencepiece, sentencepiece_size: 100}").empty());
    CHECK(warnings_of(kGpt + ", tokenizer: gpt2, tokenizer_path: /x}").empty());
    CHECK(warnings_of(kPairs + ", shuffle: false, sentencepiece_size: 100, train_limit: 5}").empty());
    CHECK(warnings_of("model: {type: gpt}\ndata: {type: tokens, if_missing: synthetic, num_samples: 9}")
              .empty());
    for (const std::string& text : {kGpt + "}", kPairs + "}", std::string("model: {type: resnet}")})
        CHECK(warnings_of(read_config_text(text, "c.yaml", "/").resolved).empty());
}

TEST_CASE("translation.bleu switched off by --set takes the best metric with it") {
    const std::string text = kPairs + "}\ncheckpoint: {best: bleu}";
    const ReadConfig read = read_config_text(text, "c.yaml", "/", {"translation.bleu=false"});
    CHECK(read.config.checkpoint.best == BestMetric::kLoss);
    REQUIRE(read.warnings.size() == 1);
    CHECK_THAT(read.warnings.front(), Catch::Contains("checkpoint.best is loss"));
    const auto both = [&] { read_config_text(text + "\ntranslation: {bleu: false}", "c.yaml", "/"); };
    CHECK_THAT(test::error_of(ExitCode::kUsage, both), Catch::Contains("checkpoint.best: bleu needs"));
    const auto set = [&] {
        read_config_text(text, "c.yaml", "/", {"translation.bleu=false", "checkpoint.best=bleu"});
    };
    CHECK_THAT(test::error_of(ExitCode::kUsage, set), Catch::Contains("checkpoint.best: bleu needs"));
}

TEST_CASE("the output folder under other names is told by its key and its option") {
    for (const char* path : {"run.dir", "run.path", "out.dir", "run_dir"}) {
        const auto read = [&] { read_config_text("seed: 1", "c.yaml", "/", {std::string(path) + "=X"}); };
        CHECK_THAT(test::error_of(ExitCode::kUsage, read),
                   Catch::Contains("output_dir") && !Catch::Contains("data.path"));
    }
    const auto section = [&] { read_config_text("run: {dir: x}", "c.yaml", "/"); };
    CHECK_THAT(test::error_of(ExitCode::kUsage, section),
               Catch::Contains("c.yaml:1:7: run.dir: ") && Catch::Contains("output_dir, or --output DIR"));
}

TEST_CASE("changed keys are told with both values") {
    RunConfig then, now;
    now.train.log_every = 3;
    now.train.steps = 40;
    now.seed = 9;
    now.log.tensorboard = true;
    CHECK(changed_keys(now, then, {"seed", "train"}) ==
          std::vector<std::string>{"seed 9 (was 1)", "train.steps 40 (was none)",
                                   "train.log_every 3 (was 10)"});
}

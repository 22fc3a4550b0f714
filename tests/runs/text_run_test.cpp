// Whole runs on text: a GPT and an encoder-decoder learn, resume to the bit, and say what is wrong with the
// data (H20, H21).
#include <catch2/catch.hpp>

#include "config/read.h"
#include "dataset/text/tokenizer.h"
#include "support/errors.h"
#include "support/small_text_run.h"
#include "train/evaluator.h"
#include "train/run_data.h"

using namespace mpt;
using test::rows_of;
namespace fs = std::filesystem;

namespace {

// A config for `folder / name`, on data that is written beside it.
RunConfig config_for(ModelType model, const test::ScratchFolder& folder, const std::string& name) {
    if (model == ModelType::kGpt) {
        test::write_file(folder / "text.txt", test::small_text(300));
        return test::small_gpt_config(folder / name, folder / "text.txt");
    }
    test::write_file(folder / "pairs.tsv", test::small_pairs(120));
    return test::small_transformer_config(folder / name, folder / "pairs.tsv");
}

double last_loss(const RunConfig& config) {
    const test::Rows rows = rows_of(config.output_dir, "train");
    return rows.back().at("loss").get<double>();
}

}  // namespace

TEST_CASE("text models learn in every precision mode, with rows that speak of tokens") {
    const auto model = GENERATE(ModelType::kGpt, ModelType::kTransformer);
    const auto mode = GENERATE(PrecisionMode::kFp32, PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16);
    const test::ScratchFolder folder;
    RunConfig config = config_for(model, folder, "run");
    config.precision.mode = mode;
    config.train.steps = 40;
    const TrainResult result = test::run(config);
    CAPTURE(name_of(model), name_of(mode));
    const test::Rows rows = rows_of(folder / "run", "train");
    CHECK(rows.back().at("loss").get<double>() < 0.9 * rows.front().at("loss").get<double>());
    CHECK(rows.back().contains("tokens_per_sec"));
    CHECK_FALSE(rows.back().contains("top1"));
    const double loss = rows.back().at("loss").get<double>();
    CHECK(rows.back().at("perplexity").get<double>() == Approx(std::exp(loss)));
    const test::Rows evaluations = rows_of(folder / "run", "eval");
    REQUIRE(evaluations.size() == 1);
    CHECK(evaluations[0].at("bits_per_character").is_number());
    CHECK(result.summary.skipped == 0);
}

TEST_CASE("a character's bits are its nats over ln 2") {
    const test::ScratchFolder folder;
    const RunConfig config = config_for(ModelType::kGpt, folder, "run");
    test::run(config);
    const auto row = rows_of(folder / "run", "eval").at(0);
    CHECK(row.at("bits_per_character").get<double>() ==
          Approx(row.at("loss").get<double>() / std::log(2.0)).epsilon(1e-3));
    CHECK(row.at("bits_per_byte") == row.at("bits_per_character"));  // it is all ASCII
}

TEST_CASE("a run on text that is interrupted and resumed has the same bits") {
    const auto model = GENERATE(ModelType::kGpt, ModelType::kTransformer);
    const test::ScratchFolder folder;
    RunConfig config = config_for(model, folder, "straight");
    config.train.steps = 9;
    config.train.accumulate = 2;
    config.model.dropout = config.model.attention_dropout = config.model.activation_dropout = 0.1;
    config.precision.mode = PrecisionMode::kAmpFp16;
    test::run(config);
    RunConfig parts = config;
    parts.output_dir = (folder / "parts").string();
    parts.train.steps = 4;  // in the middle of an epoch
    test::run(parts);
    parts.train.steps = 9;
    test::run(parts, {.resume = ResumeKind::kAuto});
    CAPTURE(name_of(model));
    CHECK(test::weights_of(folder / "parts", 9) == test::weights_of(folder / "straight", 9));
    CHECK(test::column(rows_of(folder / "parts", "train"), "loss") ==
          test::column(rows_of(folder / "straight", "train"), "loss"));
}

TEST_CASE("recomputed blocks give text models the same bits") {
    const auto model = GENERATE(ModelType::kGpt, ModelType::kTransformer);
    const test::ScratchFolder folder;
    RunConfig config = config_for(model, folder, "kept");
    config.model.dropout = 0.1;
    test::run(config);
    config.output_dir = (folder / "again").string();
    config.memory.recompute = Recompute::kBlocks;
    test::run(config);
    CHECK(test::column(rows_of(folder / "again", "train"), "loss") ==
          test::column(rows_of(folder / "kept", "train"), "loss"));
}

TEST_CASE("evaluating a checkpoint of text gives the run's own evaluation, and its tokenizer is beside it") {
    const auto model = GENERATE(ModelType::kGpt, ModelType::kTransformer);
    const test::ScratchFolder folder;
    const RunConfig config = config_for(model, folder, "run");
    test::run(config);
    const fs::path checkpoint = test::checkpoint_at(folder / "run", 4);
    const auto evaluation = evaluate_checkpoint(config, checkpoint.string(), nullptr);
    REQUIRE(evaluation);
    CHECK(evaluation->loss == rows_of(folder / "run", "eval").at(0).at("loss").get<double>());
    const auto tokenizer = load_tokenizer((checkpoint / "tokenizer").string());
    CHECK(tokenizer->decode(tokenizer->encode("the cat")) == "the cat");
}

TEST_CASE("a checkpoint's tokenizer encodes whatever text it is evaluated or resumed on") {
    const test::ScratchFolder folder;
    RunConfig config = config_for(ModelType::kGpt, folder, "run");
    test::run(config);
    const std::string checkpoint = test::checkpoint_at(folder / "run", 4).string();
    // Fewer characters than the model knows: its own numbers for them, not new ones.
    test::write_file(folder / "few.txt",
                     "the cat sees the cat. the cat sees the cat. the cat sees the cat.\n");
    RunConfig other = config;
    other.data.path = other.data.validation_path = (folder / "few.txt").string();
    const auto few = evaluate_checkpoint(other, checkpoint, nullptr);
    REQUIRE(few);
    // The same line behind the training text, where every character is known anyway.
    test::write_file(folder / "both.txt", test::small_text(300));
    other.data.path = (folder / "both.txt").string();
    CHECK(evaluate_checkpoint(other, checkpoint, nullptr)->loss == few->loss);
    // A character that was not there in training.
    test::write_file(folder / "new.txt", test::small_text(300) + "\u03a9");
    other.data.path = (folder / "new.txt").string();
    other.data.validation_path.clear();
    const auto evaluate = [&] { evaluate_checkpoint(other, checkpoint, nullptr); };
    CHECK_THAT(test::error_of(ExitCode::kData, evaluate), Catch::Contains("\u03a9"));
    other.train.steps = 6;
    const auto resume = [&] { test::run(other, {.resume = ResumeKind::kAuto}); };
    CHECK_THAT(test::error_of(ExitCode::kData, resume), Catch::Contains("\u03a9"));
}

TEST_CASE("pairs: a learned vocabulary stays the checkpoint's, and bits are of what is evaluated") {
    const test::ScratchFolder folder;
    const RunConfig config = config_for(ModelType::kTransformer, folder, "run");
    test::run(config);
    const std::string checkpoint = test::checkpoint_at(folder / "run", 4).string();
    // Validation files of their own make the training part another one, and so what would be learned from it.
    test::write_file(folder / "few.tsv", test::small_pairs(20));
    RunConfig other = config;
    other.data.validation_path = (folder / "few.tsv").string();
    const auto few = evaluate_checkpoint(other, checkpoint, nullptr);
    REQUIRE(few);
    test::write_file(folder / "train.tsv", "quite other words\tstehen nun hier\n" + test::small_pairs(90));
    other.data.path = (folder / "train.tsv").string();
    CHECK(evaluate_checkpoint(other, checkpoint, nullptr)->loss == few->loss);
    // A pair that is left out, as it is too long, does not count among the characters.
    std::string words;
    for (int i = 0; i < 400; ++i) words += "the house ";
    test::write_file(folder / "few.tsv", test::small_pairs(20) + words + "\t" + words + "\n");
    const auto with_long = evaluate_checkpoint(other, checkpoint, nullptr);
    CHECK(with_long->loss == few->loss);
    CHECK(with_long->bits_per_character == few->bits_per_character);
}

TEST_CASE("a folder of shards as nanoGPT writes it: val.bin is evaluated, and not trained on") {
    const test::ScratchFolder folder;
    const auto shard = [&](const std::string& name, int count, int first) {
        std::string bytes;
        for (int i = 0; i < count; ++i) bytes += {static_cast<char>((first + i) % 50), '\0'};
        test::write_file(folder / name, bytes);
    };
    for (const char* name : {"both", "one", "other"}) fs::create_directories(folder / name);
    shard("both/train.bin", 2000, 0);
    shard("both/val.bin", 600, 7);
    shard("one/train.bin", 2000, 0);
    shard("other/held_back.bin", 600, 7);
    RunConfig config = config_for(ModelType::kGpt, folder, "both_run");
    config.model.vocabulary_size = 50;
    config.data.type = DataType::kTokens;
    config.data.path = (folder / "both").string();
    test::run(config);
    RunConfig apart = config;
    apart.output_dir = (folder / "apart_run").string();
    apart.data.path = (folder / "one").string();
    apart.data.validation_path = (folder / "other").string();
    test::run(apart);
    for (const char* kind : {"train", "eval"})
        CHECK(test::column(rows_of(folder / "both_run", kind), "loss") ==
              test::column(rows_of(folder / "apart_run", kind), "loss"));
}

TEST_CASE("H21: line ends make no difference") {
    const test::ScratchFolder folder;
    test::write_file(folder / "lf.txt", test::small_text(200));
    test::write_file(folder / "crlf.txt", test::small_text(200, "\r\n"));
    std::vector<std::string> losses[2];
    int i = 0;
    for (const char* name : {"lf.txt", "crlf.txt"}) {
        const RunConfig config = test::small_gpt_config(folder / (std::string(name) + ".run"), folder / name);
        test::run(config);
        losses[i++] = test::column(rows_of(config.output_dir, "train"), "loss");
    }
    CHECK(losses[0] == losses[1]);
}

TEST_CASE("text data that does not fit is refused before training, by name") {
    const test::ScratchFolder folder;
    RunConfig config = config_for(ModelType::kGpt, folder, "run");
    config.data.path = (folder / "nowhere.txt").string();
    CHECK_THAT(test::error_of(ExitCode::kData, [&] { test::run(config); }),
               Catch::Contains("nowhere.txt") && Catch::Contains("prepare_text.sh"));
    config.data.path = (folder / "text.txt").string();
    config.model.context = 100000;
    CHECK_THAT(test::error_of(ExitCode::kData, [&] { test::run(config); }), Catch::Contains("text.txt"));
    config.model.context = 16;
    config.model.vocabulary_size = 5;
    CHECK_THAT(test::error_of(ExitCode::kUsage, [&] { test::run(config); }),
               Catch::Contains("model.vocabulary_size"));

    test::write_file(folder / "a.txt", test::small_text(100));  // H20
    test::write_file(folder / "b.txt", test::small_text(99));
    RunConfig pairs = config_for(ModelType::kTransformer, folder, "pairs");
    pairs.data.path.clear();
    pairs.data.source_path = (folder / "a.txt").string();
    pairs.data.target_path = (folder / "b.txt").string();
    CHECK_THAT(test::error_of(ExitCode::kData, [&] { test::run(pairs); }),
               Catch::Contains("a.txt") && Catch::Contains("100") && Catch::Contains("99"));
    CHECK_FALSE(fs::exists(folder / "run"));
}

TEST_CASE("without data random tokens stand in, with a warning") {
    const test::ScratchFolder folder;
    RunConfig config = config_for(ModelType::kGpt, folder, "run");
    config.data.type = DataType::kTokens;
    config.data.path = (folder / "nowhere").string();
    config.data.if_missing = IfMissing::kSynthetic;
    config.data.num_samples = 10;
    config.model.vocabulary_size = 50;
    test::run(config);
    CHECK_THAT(test::file_text(folder / "run" / "log.txt"), Catch::Contains("random tokens"));
    CHECK(last_loss(config) == Approx(std::log(50.0)).epsilon(0.1));
}

TEST_CASE("data.train_limit takes the first windows of a text and the first pairs") {
    const test::ScratchFolder folder;
    RunConfig config = config_for(ModelType::kGpt, folder, "limited");
    const auto losses = [&](const std::string& name) {
        config.output_dir = (folder / name).string();
        test::run(config);
        return test::column(rows_of(config.output_dir, "train"), "loss");
    };
    // Of windows of 16 tokens the first 10 and the token behind: 161 characters, and all of their starts.
    config.data.tokenizer = TokenizerType::kBytes;
    config.data.train_limit = 10;
    const auto limited = losses("limited");
    config.data.train_limit.reset();
    const auto whole = losses("whole");
    config.data.validation_path = (folder / "val.txt").string();
    test::write_file(folder / "val.txt", test::small_text(20));
    config.data.path = (folder / "part.txt").string();
    test::write_file(folder / "part.txt", test::small_text(300).substr(0, 161));
    CHECK(losses("part") == limited);
    CHECK(whole != limited);
    config.data.train_limit = 1000000;  // more than there is
    CHECK(losses("more") == limited);

    const RunConfig pairs = config_for(ModelType::kTransformer, folder, "pairs");
    RunConfig few = pairs;
    few.data.train_limit = 7;
    CHECK(open_data(pairs)->identity().training.num_samples > 7);
    CHECK(open_data(few)->identity().training.num_samples == 7);
    few.data.type = DataType::kSynthetic;
    few.data.num_samples = 50;
    few.data.eval_limit = 3;
    CHECK(open_data(few)->identity().training.num_samples == 7);
    CHECK_THAT(open_data(few)->summary(), Catch::Contains("7 training and 3 validation pairs"));
}

TEST_CASE("pairs of which a part is empty are refused with what helps") {
    const test::ScratchFolder folder;
    RunConfig config = config_for(ModelType::kTransformer, folder, "run");
    const auto failure = [&] { return test::error_of(ExitCode::kData, [&] { test::run(config); }); };
    test::write_file(folder / "one.tsv", "a\tb\n");
    config.data.path = (folder / "one.tsv").string();
    CHECK_THAT(failure(), Catch::Contains("one.tsv") && Catch::Contains("there are no ") &&
                              Catch::Contains("data.validation_fraction"));
    config.data.path = (folder / "pairs.tsv").string();
    config.data.validation_path = (folder / "val.tsv").string();
    std::string line = "the";
    for (int i = 0; i < 200; ++i) line += " house";
    test::write_file(folder / "val.tsv", line + "\tx\n");
    CHECK_THAT(failure(), Catch::Contains("val.tsv: no pair is left") && Catch::Contains("data.max_tokens"));
    test::write_file(folder / "val.tsv", "\tx\n");
    CHECK_THAT(failure(), Catch::Contains("val.tsv: no pair is left") && Catch::Contains("is empty"));
}

TEST_CASE("a vocabulary that cannot be learned is refused by key and file") {
    const test::ScratchFolder folder;
    RunConfig config = config_for(ModelType::kGpt, folder, "run");
    config.data.tokenizer = TokenizerType::kSentencePiece;
    for (const std::int64_t size : {16, 100000}) {
        config.data.sentencepiece_size = size;
        const auto run = [&] { test::run(config); };
        CHECK_THAT(test::error_of(ExitCode::kData, run),
                   Catch::StartsWith("data.sentencepiece_size: ") && Catch::Contains("text.txt") &&
                       Catch::Contains(size == 16 ? "alone need" : "at most"));
    }
}

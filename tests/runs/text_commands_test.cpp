// generate, translate and eval with small trained checkpoints: what they write, and what they refuse.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "config/read.h"
#include "dataset/text/bleu.h"
#include "dataset/text/unicode.h"
#include "support/process.h"
#include "support/small_text_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

// Trained once for all cases: a GPT on characters of more than one byte, an encoder-decoder that learns to
// write in upper case.
struct Models {
    ScratchFolder folder;
    fs::path gpt = folder / "gpt", pairs = folder / "pairs run Ö";

    Models() {
        std::string text;
        for (int i = 0; i < 60; ++i) text += "schöne Grüße 图片! ";
        write_file(folder / "text.txt", text);
        RunConfig config = small_gpt_config(gpt, folder / "text.txt");
        config.train.steps = 60;
        config.train.eval_every = {20, DurationUnit::kUpdates};
        run(config);

        write_file(folder / "train.tsv", small_pairs(200));
        write_file(folder / "val.tsv", small_pairs(12));
        config = small_transformer_config(pairs, folder / "train.tsv");
        config.data.validation_path = (folder / "val.tsv").string();
        config.train.batch_tokens = 512;
        config.train.steps = 200;
        config.train.eval_every = {100, DurationUnit::kUpdates};
        config.translation.bleu = true;
        config.checkpoint.best = BestMetric::kBleu;
        run(config);
    }
    std::string side_of_validation(std::size_t side) const {
        std::istringstream lines(file_text(folder / "val.tsv"));
        std::string text;
        for (std::string line; std::getline(lines, line);) {
            const std::size_t tab = line.find('\t');
            text += (side == 0 ? line.substr(0, tab) : line.substr(tab + 1)) + "\n";
        }
        return text;
    }
};

const Models& models() {
    static const Models trained;
    return trained;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

Finished call(const std::vector<std::string>& words, const std::string& input = {}) {
    const ScratchFolder folder;
    write_file(folder / "in", input);
    return Process(folder.path(), words, {.input = folder / "in"}).wait();
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

void check_refused(const std::vector<std::string>& words, int code, const std::string& part,
                   const std::string& input = {}) {
    const Finished finished = call(words, input);
    CAPTURE(words, finished.err);
    CHECK(finished.exit_code == code);
    CHECK(std::ranges::count(finished.err, '\n') == 1);
    CHECK_THAT(finished.err, Catch::StartsWith("mpt-train: ") && Catch::Contains(part));
}

}  // namespace

TEST_CASE("generate goes on with the prompt, in whole characters") {
    const std::vector<std::string> words = {
        "generate", "--checkpoint", models().gpt.string(), "--prompt", "schö", "--threads", "1"};
    const Finished greedy = call(with(words, {"--temperature", "0", "--tokens", "40"}));
    CHECK(greedy.exit_code == 0);
    CHECK(greedy.err.empty());
    CHECK_THAT(greedy.out, Catch::StartsWith("schöne Grüße 图片! schö") && Catch::EndsWith("\n"));
    CHECK(code_points_of(greedy.out).size() == 4 + 40 + 1);
    // The same seed draws the same text, another one another; top-k 1 is greedy.
    const auto drawn = [&](const char* seed) {
        return call(with(words, {"--temperature", "3", "--tokens", "50", "--seed", seed})).out;
    };
    CHECK(drawn("4") == drawn("4"));
    CHECK(drawn("4") != drawn("5"));
    CHECK(call(with(words, {"--top-k", "1", "--tokens", "40"})).out == greedy.out);
    CHECK(call(with(words, {"--tokens", "0"})).out == "schö\n");
}

TEST_CASE("H35: generate and translate are stopped with a line and what was written stays") {
    const ScratchFolder folder;
    Process writing(folder.path(), {"generate", "--checkpoint", models().gpt.string(), "--prompt", "schö",
                                    "--tokens", "100000000", "--threads", "1"});
    for (int i = 0; i < 6000 && file_text(folder / "stdout").size() < 40; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    writing.signal(SIGINT);
    const Finished written = writing.wait();
    CHECK(written.exit_code == 130);
    CHECK(written.err == "mpt-train: stopped by SIGINT before the end\n");
    CHECK_THAT(written.out, Catch::StartsWith("schö"));

    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    const int held = open((folder / "pipe").c_str(), O_RDWR);  // nothing comes, and no end
    Process reading(folder.path(), {"translate", "--checkpoint", models().pairs.string(), "--threads", "1"},
                    {.input = folder / "pipe"});
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    reading.signal(SIGTERM);
    const Finished read = reading.wait();
    close(held);
    CHECK(read.exit_code == 143);
    CHECK(read.err == "mpt-train: stopped by SIGTERM before the end\n");
}

TEST_CASE("a checkpoint may be a run, a checkpoint or its weights") {
    const fs::path best = fs::canonical(models().gpt / "checkpoints" / "best");
    const auto text = [](const fs::path& path) {
        const Finished finished = call({"generate", "--checkpoint", path.string(), "--prompt", "G",
                                        "--temperature", "0", "--tokens", "20"});
        CHECK(finished.exit_code == 0);
        return finished.out;
    };
    const std::string wanted = text(best);
    CHECK(text(models().gpt) == wanted);
    CHECK(text(models().gpt / "checkpoints") == wanted);
    CHECK(text(models().gpt / "checkpoints" / "best") == wanted);
    CHECK(text(best / "weights.safetensors") == wanted);
    // A run without a best: the newest.
    const ScratchFolder folder;
    fs::create_directories(folder / "checkpoints");
    fs::copy(checkpoint_at(models().gpt, 20), folder / "checkpoints" / "step-00000020",
             fs::copy_options::recursive);
    fs::copy(checkpoint_at(models().gpt, 60), folder / "checkpoints" / "step-00000060",
             fs::copy_options::recursive);
    CHECK(text(folder.path()) == text(checkpoint_at(models().gpt, 60)));
}

TEST_CASE("translate writes a line for each line, as the evaluation did") {
    const std::string sources = models().side_of_validation(0);
    const std::vector<std::string> words = {"translate", "--checkpoint", models().pairs.string(), "--threads",
                                            "1"};
    const Finished greedy = call(words, sources);
    CHECK(greedy.exit_code == 0);
    CHECK(greedy.err.empty());
    const std::vector<std::string> lines = split(greedy.out);
    REQUIRE(lines.size() == split(sources).size());
    // The best evaluation's BLEU is that of these very lines.
    double best = 0;
    for (const auto& row : rows_of(models().pairs, "eval"))
        best = std::max(best, row.at("bleu").get<double>());
    CHECK(best > 20);
    CHECK(corpus_bleu(lines, split(models().side_of_validation(1))).score == Approx(best).epsilon(1e-6));
    const Finished evaluated = call({"eval", "--checkpoint", models().pairs.string(), "--threads", "1"});
    CHECK(evaluated.exit_code == 0);
    char bleu[32];
    std::snprintf(bleu, sizeof(bleu), "BLEU %.2f", best);
    CHECK_THAT(evaluated.out, Catch::StartsWith("loss ") && Catch::Contains(bleu));

    const Finished wide = call(with(words, {"--beam", "3"}), sources);
    CHECK(split(wide.out).size() == lines.size());
    // No line feed at the end, CR LF, blank lines and lines longer than the model.
    const std::string line = split(sources).front();
    std::string endless;
    for (int i = 0; i < 100000; ++i) endless += "the cat sees ";
    const Finished odd = call(words, line + "\r\n\n" + line + "\n" + endless + "\n" + line);
    CHECK(odd.exit_code == 0);
    REQUIRE(split(odd.out).size() == 5);
    CHECK(split(odd.out)[0] == lines[0]);
    CHECK(split(odd.out)[1].empty());
    CHECK(split(odd.out)[4] == lines[0]);
    CHECK_THAT(odd.err, Catch::Contains("1 of the lines had more than 31 tokens"));
    CHECK(call(words).out.empty());
}

TEST_CASE("what generate and translate refuse") {
    const std::string gpt = models().gpt.string(), pairs = models().pairs.string();
    check_refused({"generate", "--prompt", "x"}, 2, "--checkpoint PATH is missing");
    check_refused({"generate", "--checkpoint", gpt}, 2, "--prompt TEXT is missing");
    check_refused({"generate", "--checkpoint", gpt, "--prompt", ""}, 2, "--prompt is empty");
    for (const char* tokens : {"-1", "2.5", "0x10", "99999999999999999999", ""})
        check_refused({"generate", "--checkpoint", gpt, "--prompt", "G", "--tokens", tokens}, 2, "--tokens");
    check_refused({"generate", "--checkpoint", gpt, "--prompt", "G", "--temperature", "nan"}, 2,
                  "--temperature");
    check_refused({"generate", "--checkpoint", gpt, "--prompt", "G", "--tmperature", "1"}, 2, "did you mean");
    check_refused({"generate", "--checkpoint", gpt, "--prompt", "Q"}, 3, "--prompt: character U+0051 'Q'");
    check_refused({"generate", "--checkpoint", pairs, "--prompt", "G"}, 2, "translate");
    check_refused({"generate", "--checkpoint", gpt + "/nowhere", "--prompt", "G"}, 5, "no such checkpoint");
    check_refused({"translate", "--checkpoint", gpt}, 2, "generate");
    check_refused({"translate", "--checkpoint", pairs, "--beam", "0"}, 2,
                  "--beam 0: translation.beam: 0 is out of range");
    check_refused({"translate", "--checkpoint", pairs}, 3, "line 2", "the cat\nthe \xff dog\n");
    check_refused({"eval", "--checkpoint", models().folder.path().string()}, 5, "neither a checkpoint");

    // A damaged file, a tokenizer that is gone, weights of another shape.
    const ScratchFolder folder;
    fs::copy(fs::canonical(models().gpt / "checkpoints" / "best"), folder / "c", fs::copy_options::recursive);
    const std::string copy = (folder / "c").string();
    check_refused({"generate", "--checkpoint", copy, "--prompt", "G", "--set", "model.width=64"}, 5,
                  "weights.safetensors");
    const std::string weights = file_text(folder / "c" / "weights.safetensors");
    write_file(folder / "c" / "weights.safetensors", weights.substr(0, weights.size() - 9));
    check_refused({"generate", "--checkpoint", copy, "--prompt", "G"}, 5, "weights.safetensors");
    fs::remove_all(folder / "c" / "tokenizer");
    check_refused({"generate", "--checkpoint", copy, "--prompt", "G"}, 5, "tokenizer");
}

TEST_CASE("translate: input that cannot be read is no empty input") {
    const ScratchFolder folder;
    const std::vector<std::string> words = {"translate", "--checkpoint", models().pairs.string()};
    const Finished of_folder = Process(folder.path(), words, {.input = folder.path()}).wait();
    CHECK(of_folder.exit_code == 3);
    CHECK_THAT(of_folder.err, Catch::Contains("standard input cannot be read"));
    const std::string err = (folder / "err").string();
    const std::string command = std::string("\"") + MPT_TRAIN + "\" translate --checkpoint \"" +
                                models().pairs.string() + "\" <&- 2>\"" + err + "\"";
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 3);
    CHECK_THAT(file_text(err), Catch::StartsWith("mpt-train: standard input cannot be read"));
}

// eval, generate and translate on checkpoints of which a part is gone or damaged: exit 5, the file at fault
// and the last good checkpoint; of a whole run the newest good one is taken, and that is said.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/process.h"
#include "support/small_text_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

// Checkpoints at updates 2 and 4; the best is 4's, as the loss falls.
struct Damaged {
    ScratchFolder folder;
    fs::path run = folder / "run";

    Damaged() {
        static const ScratchFolder trained;
        if (!fs::exists(trained / "run")) {
            write_file(trained / "text", small_text(100));
            RunConfig config = small_gpt_config(trained / "run", trained / "text");
            config.train.eval_every = config.checkpoint.every = {2, DurationUnit::kUpdates};
            mpt::test::run(config);
        }
        fs::copy(trained / "run", run, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        REQUIRE(fs::read_symlink(run / "checkpoints" / "best") == "step-00000004");
    }
    fs::path newest() const { return checkpoint_at(run, 4); }
    fs::path older() const { return checkpoint_at(run, 2); }
    Finished call(const std::string& command, const fs::path& checkpoint) const {
        std::vector<std::string> words = {command, "--checkpoint", checkpoint.string(), "--threads", "1"};
        if (command == "generate") words.insert(words.end(), {"--prompt", "the", "--tokens", "3"});
        return Process(folder.path(), words).wait();
    }
};

void flip(const fs::path& file, std::size_t at) {
    std::string bytes = file_text(file);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    write_file(file, bytes);
}

void check_refused(const Finished& finished, const std::string& file, const std::string& good) {
    CAPTURE(finished.out, finished.err);
    CHECK(finished.exit_code == 5);
    CHECK(std::ranges::count(finished.err, '\n') == 1);
    CHECK_THAT(finished.err,
               Catch::StartsWith("mpt-train: ") && Catch::Contains(file) && Catch::Contains(good));
}

}  // namespace

TEST_CASE("a damaged checkpoint is exit 5 with the file at fault and the last good one") {
    const std::string command = GENERATE("eval", "generate");
    const std::string what = GENERATE("config.yaml", "tokenizer", "tokenizer/tokenizer.json", "manifest.json",
                                      "weights.safetensors", "state.json");
    const bool gone = GENERATE(true, false);
    if (what == "tokenizer" && !gone) return;
    const Damaged damaged;
    const fs::path file = damaged.newest() / what;
    // Within a character of the vocabulary, so that the JSON stays one.
    if (gone)
        fs::remove_all(file);
    else
        flip(file, what == "tokenizer/tokenizer.json" ? file_text(file).find("abcdef") + 2 : 60);
    CAPTURE(command, what, gone);
    check_refused(damaged.call(command, damaged.newest()), file.string().substr(0, file.string().rfind('/')),
                  "the last good checkpoint is " + damaged.older().string());
    // By the run: the one before, and a line about it.
    const Finished fallen = damaged.call(command, damaged.run);
    CHECK(fallen.exit_code == 0);
    CHECK(fallen.out == damaged.call(command, damaged.older()).out);
    CHECK_THAT(fallen.err, Catch::Contains("mpt-train: ") && Catch::Contains(damaged.newest().string()) &&
                               Catch::Contains("good one is used"));
}

TEST_CASE("training from a damaged checkpoint that is named itself gives the last good one") {
    const Damaged damaged;
    const std::string config = (damaged.run / "config.yaml").string();
    const std::string output = (damaged.folder / "other").string();
    const bool resumes = GENERATE(true, false);
    const std::vector<std::string> words =
        resumes ? std::vector<std::string>{"--resume", damaged.newest().string() + "/"}
                : std::vector<std::string>{
                      "--init-from", damaged.newest().string(), "--config", config, "--output", output};
    flip(damaged.newest() / "weights.safetensors", 60);
    check_refused(Process(damaged.folder.path(), words).wait(),
                  (damaged.newest() / "weights.safetensors").string(),
                  "the last good checkpoint is " + damaged.older().string());
    CHECK_FALSE(fs::exists(output));
}

TEST_CASE("a file of weights is compared with the manifest beside it") {
    const Damaged damaged;
    const fs::path weights = damaged.newest() / "weights.safetensors";
    const std::string output = (damaged.folder / "other").string();
    const std::string as_it_was = damaged.call("generate", weights).out;
    const auto begin = [&](const std::string& from) {
        return Process(damaged.folder.path(), {"--init-from", from, "--config",
                                               (damaged.run / "config.yaml").string(), "--output", output})
            .wait();
    };
    fs::remove(damaged.newest() / "optimizer.safetensors");
    CHECK(damaged.call("generate", weights).out == as_it_was);

    const std::string what = GENERATE("weights.safetensors", "tokenizer/tokenizer.json", "manifest.json");
    const fs::path file = damaged.newest() / what;
    const std::size_t at = what == "weights.safetensors" ? fs::file_size(file) - 3
                           : what == "manifest.json"     ? 60
                                                         : file_text(file).find("abcdef") + 2;
    flip(file, at);
    const std::string good = "the last good checkpoint is " + damaged.older().string();
    check_refused(damaged.call("generate", weights), file.string() + ": damaged", good);
    check_refused(damaged.call("eval", weights), file.string() + ": damaged", good);
    check_refused(begin(weights.string()), file.string() + ": damaged", good);
    CHECK_FALSE(fs::exists(output));
    fs::copy(weights, damaged.folder / "copy.safetensors");  // nothing says what it ought to be
    CHECK(begin((damaged.folder / "copy.safetensors").string()).exit_code == 0);
}

TEST_CASE("a manifest that is none is told in plain words") {
    const Damaged damaged;
    const auto [text, said] =
        GENERATE(table<std::string, std::string>({{"", "it is empty"},
                                                  {"no JSON", "it is not a JSON object"},
                                                  {"[1]", "it is not a JSON object"},
                                                  {"{\"format\": 1}", "it lacks what a manifest holds"},
                                                  {"{\"format\": 9}", "format 9 is not known here"}}));
    write_file(damaged.newest() / "manifest.json", text);
    const Finished finished = damaged.call("eval", damaged.newest());
    check_refused(finished, "manifest.json: damaged: " + said + "; the last good", damaged.older().string());
}

TEST_CASE("when no checkpoint is good, that is said") {
    const Damaged damaged;
    for (const fs::path& checkpoint : {damaged.newest(), damaged.older()})
        fs::remove(checkpoint / "config.yaml");
    check_refused(damaged.call("eval", damaged.run), "config.yaml", "no checkpoint here is good");
    check_refused(damaged.call("eval", damaged.newest()), "config.yaml", "no good checkpoint beside it");
}

TEST_CASE("a bare safetensors file takes its vocabulary from the training text") {
    const Damaged damaged;
    fs::copy(damaged.newest() / "weights.safetensors", damaged.folder / "w.safetensors");
    fs::copy(damaged.newest() / "config.yaml", damaged.folder / "c.yaml");
    const auto generate = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words = {"generate",
                                          "--checkpoint",
                                          (damaged.folder / "w.safetensors").string(),
                                          "--config",
                                          (damaged.folder / "c.yaml").string(),
                                          "--prompt",
                                          "the",
                                          "--tokens",
                                          "3",
                                          "--threads",
                                          "1"};
        words.insert(words.end(), more.begin(), more.end());
        return Process(damaged.folder.path(), words).wait();
    };
    CHECK(generate({}).out == damaged.call("generate", damaged.newest()).out);
    const Finished without = generate({"--set", "data.path=" + (damaged.folder / "gone").string()});
    check_refused(without, "w.safetensors: has no tokenizer", "--set data.path=FILE");
}

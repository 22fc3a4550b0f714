// The built command: exit codes, one line on stderr, plain output in files (H49), signals (H35).
#include <pty.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

#include "support/process.h"
#include "support/small_run.h"
#include "train/checkpoint_store.h"

using namespace mpt;
namespace fs = std::filesystem;

namespace {

void write_config(const fs::path& path, const std::string& steps) {
    test::write_file(path,
                     "model: {type: resnet, depth: 20, num_classes: 4}\n"
                     "data: {type: synthetic, image_size: 8, channels: 1, num_samples: 20, workers: 0}\n"
                     "train: {steps: " +
                         steps +
                         ", batch_size: 4, log_every: 2}\n"
                         "optimizer: {type: sgd, lr: 0.01}\n"
                         "threads: 1\n");
}

test::Finished call(const test::ScratchFolder& folder, const std::vector<std::string>& words,
                    const test::Surroundings& surroundings = {}) {
    return test::Process(folder.path(), words, surroundings).wait();
}

void check_one_line(const std::string& err, const std::string& part) {
    CHECK(std::count(err.begin(), err.end(), '\n') == 1);
    CHECK_THAT(err, Catch::StartsWith("mpt-train: ") && Catch::Contains(part));
}

}  // namespace

TEST_CASE("usage errors are exit 2 and one line") {
    const test::ScratchFolder folder;
    write_config(folder / "c.yaml", "1");
    const std::string config = (folder / "c.yaml").string();
    const auto check = [&](const std::vector<std::string>& words, const std::string& part) {
        const test::Finished finished = call(folder, words);
        CHECK(finished.exit_code == 2);
        check_one_line(finished.err, part);
        CHECK(finished.out.empty());
    };
    check({}, "--config FILE is missing");
    check({"--confg", "x"}, "did you mean --config?");
    check({"--config"}, "--config");
    check({"--config", "nowhere.yaml"}, "nowhere.yaml");
    check({"--config", config, "--device", "cuda:1", "--output", (folder / "x").string()},
          "use --device cpu or auto");
    check({"--config", config, "--threads", "0"}, "threads");
    check({"--config", config, "--set", "train.btch_size=3"}, "batch_size");
    check({"--config", config, "--resume", "--overwrite", "--output", (folder / "x").string()}, "exclude");
    check({"eval", "--config", config}, "--checkpoint");
    const std::string output = (folder / "x").string();
    check({"--config", config, "--output", output, "--set", "precision.mode=fp16_pure", "optimizer.ema=0.9"},
          "needs f32 masters");
    check({"--config", config, "--output", output, "--set", "train.early_stop=2", "checkpoint.best=none"},
          "early_stop");
    check({"evil"}, "unknown argument 'evil'");
    CHECK_FALSE(fs::exists(folder / "x"));
}

TEST_CASE("help, version and keys are exit 0") {
    const test::ScratchFolder folder;
    for (const auto& words : std::vector<std::vector<std::string>>{{"--help"},
                                                                   {"--version"},
                                                                   {"keys"},
                                                                   {"keys", "--help"},
                                                                   {"eval", "--help"},
                                                                   {"generate", "--help"},
                                                                   {"translate", "--help"}}) {
        const test::Finished finished = call(folder, words);
        CHECK(finished.exit_code == 0);
        CHECK(finished.err.empty());
        CHECK_FALSE(finished.out.empty());
    }
    const std::string version = call(folder, {"--version"}).out;
    CHECK_THAT(version, Catch::Contains("CUDA backend: ") && Catch::Contains("oneDNN") &&
                            Catch::Contains("instruction sets:"));
}

TEST_CASE("H49: redirected output is plain lines, whatever the terminal says; eval repeats the result") {
    const test::ScratchFolder folder;
    write_config(folder / "c.yaml", "4");
    for (const std::string setting : {"TERM=xterm", "TERM=dumb", "NO_COLOR=1"}) {
        const std::string output = (folder / ("run Ö " + setting)).string();
        const test::Finished finished =
            call(folder, {"--config", (folder / "c.yaml").string(), "--output", output},
                 {.environment = {setting, "LC_ALL=C"}});
        CHECK(finished.exit_code == 0);
        CHECK(finished.err.empty());
        CHECK(finished.out.find('\r') == std::string::npos);
        CHECK(finished.out.find('\x1b') == std::string::npos);
        CHECK_THAT(finished.out, Catch::Contains("update 2/4") && Catch::Contains("update 4/4") &&
                                     Catch::Contains("checkpoint: " + output + "/checkpoints/step-00000004"));
        const auto summary = test::rows_of(output, "summary").at(0);
        CHECK(summary["checkpoint"].get<std::string>() == output + "/checkpoints/step-00000004");
        const std::string log = test::file_text(output + "/log.txt"), line = "checkpoint: " + output;
        CHECK(log.find(line) != std::string::npos);
        CHECK(log.find(line) == log.rfind(line));  // once
        if (setting != "TERM=xterm") continue;
        const test::Finished evaluated = call(folder, {"eval", "--config", output + "/config.yaml",
                                                       "--checkpoint", output + "/checkpoints/best"});
        CHECK(evaluated.exit_code == 0);
        CHECK_THAT(evaluated.out, Catch::StartsWith("loss "));
    }
}

TEST_CASE("H49: a terminal gets a bar, without escapes; a dumb one does not") {
    const test::ScratchFolder folder;
    write_config(folder / "c.yaml", "4");
    for (const std::string term : {"TERM=xterm", "TERM=dumb"}) {
        int terminal = -1;
        const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
        REQUIRE(child >= 0);
        if (child == 0) {
            putenv(strdup(term.c_str()));
            const std::string config = (folder / "c.yaml").string();
            const std::string output = (folder / term).string();
            execl(MPT_TRAIN, MPT_TRAIN, "--config", config.c_str(), "--output", output.c_str(), nullptr);
            _exit(127);
        }
        std::string text;
        char buffer[4096];
        for (ssize_t n = 0; (n = read(terminal, buffer, sizeof(buffer))) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        int status = 0;
        waitpid(child, &status, 0);
        close(terminal);
        CHECK(WEXITSTATUS(status) == 0);
        CHECK(text.find('\x1b') == std::string::npos);
        CHECK((text.find("\repoch 1") != std::string::npos) == (term == "TERM=xterm"));
        CHECK_THAT(text, Catch::Contains("done: 4 updates"));
    }
}

TEST_CASE("a full disk is exit 6 in one line, and memory that is not there, too") {
    const test::ScratchFolder folder;
    write_config(folder / "c.yaml", "2");
    const std::string config = (folder / "c.yaml").string();
    const test::Finished full = call(folder, {"--config", config, "--output", (folder / "full").string()},
                                     {.file_size_limit = 100000});
    CHECK(full.exit_code == 6);
    check_one_line(full.err, "weights.safetensors: cannot write");
    CHECK(fs::is_empty(folder / "full/checkpoints"));
    CHECK(test::rows_of(folder / "full", "summary").at(0)["end"] == "failed");

    const test::Finished small = call(
        folder, {"--config", config, "--output", (folder / "small").string(), "--set", "memory.limit=2MiB"});
    CHECK(small.exit_code == 6);
    check_one_line(small.err, "the plan needs");
    CHECK_THAT(small.err, Catch::Contains("memory.limit allows 2 MiB of the "));
    CHECK_FALSE(fs::exists(folder / "small"));
    // A width that no machine has memory for ends with the plan's figures, not where something is allocated.
    test::write_file(
        folder / "wide.yaml",
        "model: {type: gpt, depth: 2, width: 262144, heads: 8, context: 8, vocabulary_size: 50}\n"
        "data: {type: synthetic, num_samples: 4}\ntrain: {batch_size: 2}\n");
    const test::Finished wide = call(folder, {"--config", (folder / "wide.yaml").string(), "--output",
                                              (folder / "wide").string(), "--set", "optimizer.type=lamb"});
    CHECK(wide.exit_code == 6);
    check_one_line(wide.err, "; not even one sample fits: a smaller model is needed");
}

TEST_CASE(
    "H35: Ctrl-C is answered, saves, says what it saved and is exit 130; another process in the directory is "
    "refused") {
    const test::ScratchFolder folder;
    write_config(folder / "c.yaml", "100000");
    const std::string output = (folder / "run").string();
    test::Process process(folder.path(), {"--config", (folder / "c.yaml").string(), "--output", output,
                                          "--set", "checkpoint.every=never", "train.eval_every=never"});
    const auto rows = [&] {
        return fs::exists(output + "/metrics.jsonl") ? fs::file_size(output + "/metrics.jsonl") : 0;
    };
    for (int i = 0; i < 6000 && rows() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(rows() > 0);
    const test::ScratchFolder other;
    const test::Finished refused =
        call(other, {"--config", (folder / "c.yaml").string(), "--output", output, "--overwrite"});
    CHECK(refused.exit_code == 2);
    check_one_line(refused.err, "another process is training here");
    process.signal(SIGINT);
    const test::Finished finished = process.wait();
    CHECK(finished.exit_code == 130);
    const std::string answer =
        "mpt-train: SIGINT: stopping after this update (a second signal ends at once)\n";
    CHECK_THAT(finished.err, Catch::StartsWith(answer));
    check_one_line(finished.err.substr(std::min(answer.size(), finished.err.size())),
                   "stopped by SIGINT after update");
    const auto summary = test::rows_of(output, "summary").at(0);
    CHECK(fs::exists(summary["checkpoint"].get<std::string>() + "/manifest.json"));
}

TEST_CASE("H35: a second Ctrl-C ends at once and leaves only good checkpoints") {
    const test::ScratchFolder folder;
    write_config(folder / "c.yaml", "100000");
    const std::string output = (folder / "run").string();
    test::Process process(folder.path(), {"--config", (folder / "c.yaml").string(), "--output", output,
                                          "--set", "checkpoint.every=1", "train.eval_every=1"});
    const fs::path second = test::checkpoint_at(output, 2);
    for (int i = 0; i < 6000 && !fs::exists(second); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    process.signal(SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    process.signal(SIGINT);
    CHECK(process.wait().exit_code == 130);
    const std::vector<CheckpointHead> heads = list_checkpoints(fs::path(output) / "checkpoints");
    CHECK(heads.size() >= 2);
    for (const CheckpointHead& head : heads) CHECK_NOTHROW(read_checkpoint(head.path));
}

// H35 before the first update: learning a vocabulary and planning a deep model take long, and have nothing to
// save: a signal ends the process at once, with one line, and nothing is left behind.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "support/process.h"
#include "support/small_text_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

void check_ends_at_once(const ScratchFolder& folder, std::vector<std::string> words, int signal,
                        const std::string& line) {
    Process process(folder.path(), words);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the work takes many times that
    process.signal(signal);
    const Finished finished = process.wait();
    CAPTURE(finished.out, finished.err);
    CHECK(finished.exit_code == 128 + signal);
    CHECK(finished.err == "mpt-train: " + line + "\n");
    CHECK_THAT(finished.out, !Catch::Contains("epoch"));
    CHECK_FALSE(fs::exists(folder / "run"));
}

// A GPT of micro-steps that take a moment each: a first update of minutes.
void write_long_update(const ScratchFolder& folder, int accumulate) {
    write_file(folder / "long.yaml",
               "model: {type: gpt, depth: 1, width: 16, heads: 2, context: 8, vocabulary_size: 50}\n"
               "data: {type: synthetic, num_samples: 200}\n"
               "train: {steps: 3, log_every: 1, batch_size: " +
                   std::to_string(accumulate) + ", accumulate: " + std::to_string(accumulate) +
                   "}\nthreads: 1\noutput_dir: run\n");
}

void wait_for(const fs::path& file, std::size_t bytes) {
    for (int i = 0; i < 60000 && (!fs::exists(file) || fs::file_size(file) < bytes); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    REQUIRE(fs::exists(file));
}

}  // namespace

TEST_CASE("H35: a signal while SentencePiece learns, and while a deep model is planned") {
    const ScratchFolder folder;
    // Words that do not repeat make it slow.
    std::string text;
    unsigned state = 1;
    for (int i = 0; i < 400000; ++i) {
        state = state * 1664525u + 1013904223u;
        text += std::to_string(state) + (i % 10 == 9 ? "\n" : " ");
    }
    write_file(folder / "text", text);
    write_file(folder / "learns.yaml",
               "model: {type: gpt, depth: 1, width: 16, heads: 2, context: 8}\n"
               "data: {type: text, path: text, tokenizer: sentencepiece, sentencepiece_size: 30000}\n"
               "output_dir: run\n");
    write_file(folder / "plans.yaml",
               "model: {type: gpt, depth: 1000, width: 16, heads: 2, context: 8, vocabulary_size: 50}\n"
               "data: {type: synthetic}\noutput_dir: run\n");
    const auto config = [&](const char* name) { return (folder / name).string(); };
    check_ends_at_once(folder, {"--config", config("learns.yaml")}, SIGTERM,
                       "stopped by SIGTERM before the first update");
    check_ends_at_once(folder, {"--config", config("plans.yaml")}, SIGINT,
                       "stopped by SIGINT before the first update");
    check_ends_at_once(folder, {"plan", "--config", config("plans.yaml")}, SIGTERM,
                       "stopped by SIGTERM before the end");
    check_ends_at_once(folder, {"gemm", "--device", "cpu", "--sizes", "8192x8192x8192"}, SIGINT,
                       "stopped by SIGINT before the end");
}

TEST_CASE("H35: a signal in the first update, however long it is, ends the run at once") {
    const ScratchFolder folder;
    write_long_update(folder, 1000000);
    Process process(folder.path(), {"--config", (folder / "long.yaml").string()});
    wait_for(folder / "run/log.txt", 500);  // with all that comes before the first update
    process.signal(SIGTERM);
    const Finished finished = process.wait();
    CHECK(finished.exit_code == 128 + SIGTERM);
    CHECK(finished.err == "mpt-train: stopped by SIGTERM before the first update\n");
}

TEST_CASE("H35: the first signal in a later update is answered at once") {
    const ScratchFolder folder;
    write_long_update(folder, 10000);
    Process process(folder.path(), {"--config", (folder / "long.yaml").string()});
    wait_for(folder / "run/metrics.jsonl", 10);
    process.signal(SIGINT);
    const Finished finished = process.wait();
    CAPTURE(finished.err);
    CHECK(finished.exit_code == 128 + SIGINT);
    CHECK_THAT(finished.err,
               Catch::StartsWith("mpt-train: SIGINT: stopping after this update (a second signal "
                                 "ends at once)\nmpt-train: stopped by SIGINT after update 1; "));
}

TEST_CASE("what a run is and what it is on is told before it is planned") {
    const ScratchFolder folder;
    write_file(folder / "c.yaml",
               "model: {type: gpt, depth: 1000, width: 16, heads: 2, context: 8, vocabulary_size: 50}\n"
               "data: {type: synthetic}\noutput_dir: run\n");
    Process process(folder.path(), {"--config", (folder / "c.yaml").string()});
    for (int i = 0; i < 20000 && file_text(folder / "stdout").find("data: ") == std::string::npos; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.signal(SIGTERM);
    const Finished finished = process.wait();
    CHECK_THAT(finished.out, Catch::StartsWith("warning: the tokens are synthetic") &&
                                 Catch::Contains("\nrun c in ") && Catch::Contains("\ndata: 10241 training"));
    CHECK_FALSE(fs::exists(folder / "run"));
}

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
    CHECK(finished.out.empty());
    CHECK_FALSE(fs::exists(folder / "run"));
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

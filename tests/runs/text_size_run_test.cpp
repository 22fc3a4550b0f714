// Text that does not fit into memory, text that is no longer what it was, and weights from a run's folder.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "support/dataset_files.h"
#include "support/errors.h"
#include "support/process.h"
#include "support/small_text_run.h"
#include "train/run_setup.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

// By a shell, as limits are its business.
Finished limited(const ScratchFolder& folder, int kib, const std::string& words) {
    const std::string line = "ulimit -v " + std::to_string(kib) + "; exec " + MPT_TRAIN + " " + words +
                             " > " + (folder / "out").string() + " 2> " + (folder / "err").string();
    const int status = std::system(("bash -c '" + line + "'").c_str());
    return {WEXITSTATUS(status), file_text(folder / "out"), file_text(folder / "err"), 0};
}

std::string config_on(const ScratchFolder& folder, const std::string& data) {
    write_file(folder / "c.yaml", "model: {type: gpt, depth: 1, width: 16, heads: 2, context: 8}\ndata: {" +
                                      data +
                                      "}\ntrain: {steps: 1, batch_size: 2}\nthreads: 1\noutput_dir: run\n");
    return (folder / "c.yaml").string();
}

}  // namespace

TEST_CASE("a text larger than memory is refused before it is read") {
    const ScratchFolder folder;
    write_file(folder / "huge.txt", "");
    std::error_code error;
    fs::resize_file(folder / "huge.txt", std::uintmax_t{3} << 40, error);
    if (error) WARN("SKIPPED: no file of 3 TiB can be made here");
    if (error) return;
    const Finished run =
        Process(folder.path(), {"--config", config_on(folder, "type: text, path: huge.txt")}).wait();
    CHECK(run.exit_code == 6);
    CHECK_THAT(run.err, Catch::Contains("huge.txt: takes 3072 GiB, there is ") && Catch::Contains(" free") &&
                            Catch::Contains("take a smaller file, or write its tokens into shards"));
}

#ifndef __SANITIZE_ADDRESS__  // the sanitizer takes terabytes of address space

TEST_CASE("what does not fit below ulimit -v is named: packed text, its tokens, shards") {
    const ScratchFolder folder;
    const std::string text(std::size_t{200} << 20, 'a');
    const Bytes packed = gzip(Bytes(text.begin(), text.end()));
    write_file(folder / "a.gz", std::string(packed.begin(), packed.end()));
    const int kib = 300000;
    const auto check = [&](const std::string& data, const std::string& part) {
        const Finished run = limited(folder, kib, "--config " + config_on(folder, data));
        CAPTURE(run.err);
        CHECK(run.exit_code == 6);
        CHECK_THAT(run.err, Catch::Contains(part) && Catch::Contains("limited by ulimit -v") &&
                                !Catch::Contains("batch_size"));
    };
    check("type: text, path: a.gz", "a.gz: unpacking it takes ");
    write_file(folder / "a.txt", text.substr(0, std::size_t{60} << 20));
    check("type: text, path: a.txt", "a.txt: ");  // read, but then no room for its tokens
    write_file(folder / "a.bin", "");
    fs::resize_file(folder / "a.bin", std::uintmax_t{1} << 30);
    check("type: tokens, path: a.bin", "a.bin: takes 1024 MiB of address space");
}

TEST_CASE("a plan that does not fit says how much there is, and what keeps it so little") {
    const ScratchFolder folder;
    write_file(folder / "a.txt", small_text(100));
    const std::string config = config_on(folder, "type: text, path: a.txt");
    Finished run;
    for (int kib = 40000; kib <= 200000; kib += 10000) {
        run = limited(folder, kib, "--config " + config + " --set model.width=1024");
        if (run.err.find("the plan needs") != std::string::npos) break;
    }
    CHECK(run.exit_code == 6);
    CHECK_THAT(run.err, Catch::Contains("(limited by ulimit -v)") && !Catch::Contains(" 0 MiB"));
}

#endif

TEST_CASE("other text of the same length is refused within an epoch and told at its end") {
    const ScratchFolder folder;
    const bool pairs = GENERATE(false, true);
    CAPTURE(pairs);
    const fs::path file = folder / "text";
    const auto write = [&](bool other) {
        std::string text = pairs ? small_pairs(200) : small_text(200);
        // Of pairs the target alone, as the source says which of the two parts a pair is in.
        const std::string word = pairs ? "HOUSE" : "house";
        for (std::size_t at = text.find(word); other && at != std::string::npos; at = text.find(word, at + 1))
            text[at + 2] = text[at];  // h in the place of u
        write_file(file, text);
    };
    write(false);
    RunConfig config =
        pairs ? small_transformer_config(folder / "run", file) : small_gpt_config(folder / "run", file);
    config.train.steps = 2;
    run(config);
    write(true);
    config.train.steps = 3;
    const auto resume = [&] { run(config, {.resume = ResumeKind::kAuto}); };
    CHECK_THAT(error_of(ExitCode::kCheckpoint, resume),
               Catch::Contains("in the middle of an epoch over other training data") &&
                   Catch::Contains("samples as then, but with other text"));
    write(false);
    config.train.steps = static_cast<std::int64_t>(open_data(config)->description.updates_per_epoch);
    resume();
    write(true);
    *config.train.steps += 1;
    resume();
    CHECK_THAT(file_text(folder / "run/log.txt"),
               Catch::Contains("the training data is not the checkpoint's"));
}

TEST_CASE("a run's folder gives its weights to another run") {
    const ScratchFolder folder;
    write_file(folder / "text", small_text(100));
    RunConfig config = small_gpt_config(folder / "first", folder / "text");
    config.train.steps = 2;
    run(config);
    config.output_dir = (folder / "second").string();
    config.checkpoint.init_from = (folder / "first").string();
    run(config);
    CHECK_THAT(file_text(folder / "second/log.txt"),
               Catch::Contains("weights from " + (folder / "first").string()));
    // Data that is a loop of links.
    fs::create_symlink("loop", folder / "loop");
    config.output_dir = (folder / "third").string();
    config.data.path = (folder / "loop").string();
    CHECK_THAT(error_of(ExitCode::kData, [&] { run(config); }), Catch::Contains("loop: cannot be used: "));
}

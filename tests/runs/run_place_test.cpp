// --resume and --overwrite of runs whose folder was moved or copied, and of checkpoints of other runs.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/process.h"
#include "support/small_run.h"

using namespace mpt;
using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

// A run of two updates in folder/old; `more` go on with --set train.steps=4.
struct OldRun {
    ScratchFolder folder;
    fs::path old = folder / "old";

    OldRun() {
        write_file(folder / "c.yaml",
                   "model: {type: resnet, depth: 20, num_classes: 4}\n"
                   "data: {type: synthetic, image_size: 8, channels: 1, num_samples: 20, workers: 0}\n"
                   "train: {steps: 2, batch_size: 4, log_every: 1}\n"
                   "optimizer: {type: sgd, lr: 0.01}\nthreads: 1\n");
        const Finished finished = call({"--config", (folder / "c.yaml").string(), "--output", old.string()});
        REQUIRE(finished.exit_code == 0);
    }
    Finished call(const std::vector<std::string>& words) const {
        return Process(folder.path(), words).wait();
    }
    Finished go_on(std::vector<std::string> words) const {
        words.insert(words.end(), {"--set", "train.steps=4"});
        return call(words);
    }
};

std::size_t num_rows(const fs::path& run) {
    return rows_of(run, "train").size();
}

}  // namespace

TEST_CASE("a run that was moved goes on where it is now, to the bit") {
    const OldRun run;
    const fs::path straight = run.folder / "straight", moved = run.folder / "moved Ö";
    REQUIRE(run.call({"--config", (run.folder / "c.yaml").string(), "--output", straight.string(), "--set",
                      "train.steps=4"})
                .exit_code == 0);
    fs::rename(run.old, moved);
    const Finished finished = run.go_on({"--config", (moved / "config.yaml").string(), "--resume"});
    CAPTURE(finished.err);
    CHECK(finished.exit_code == 0);
    CHECK_THAT(finished.out, Catch::Contains(run.old.string()) && Catch::Contains(moved.string()) &&
                                 Catch::Contains("goes on there"));
    CHECK_FALSE(fs::exists(run.old));
    CHECK(column(rows_of(moved, "train"), "loss") == column(rows_of(straight, "train"), "loss"));
    CHECK(weights_of(moved, 4) == weights_of(straight, 4));
    // From now on its config says so.
    CHECK_THAT(file_text(moved / "config.yaml"), Catch::Contains("moved"));
}

TEST_CASE("a copy of a run goes on in the copy, also by its folder alone") {
    const OldRun run;
    const fs::path copy = run.folder / "copy";
    fs::copy(run.old, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const std::string metrics = file_text(run.old / "metrics.jsonl");
    const Finished by_folder = run.go_on({"--resume", copy.string()});
    CAPTURE(by_folder.err);
    CHECK(by_folder.exit_code == 0);
    CHECK(num_rows(copy) == 4);
    CHECK(file_text(run.old / "metrics.jsonl") == metrics);
    CHECK_FALSE(fs::exists(checkpoint_at(run.old, 4)));
    const Finished nowhere = run.go_on({"--resume", (run.folder / "nowhere").string()});
    CHECK(nowhere.exit_code == 5);
    CHECK_THAT(nowhere.err, Catch::Contains("nowhere: is neither the folder of a run"));
    // The original, by its own config, goes on in its own place.
    CHECK(run.go_on({"--config", (run.old / "config.yaml").string(), "--resume"}).exit_code == 0);
    CHECK(num_rows(run.old) == 4);
}

TEST_CASE("where two places may be meant, both are named and nothing is touched") {
    const OldRun run;
    const fs::path copy = run.folder / "copy", other = run.folder / "other";
    fs::copy(run.old, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const auto refused = [&](std::vector<std::string> words, const fs::path& one, const fs::path& two) {
        const std::string before = file_text(run.old / "metrics.jsonl") + file_text(copy / "metrics.jsonl");
        const Finished finished = run.go_on(words);
        CHECK(finished.exit_code == 2);
        CHECK(std::ranges::count(finished.err, '\n') == 1);
        CHECK_THAT(finished.err, Catch::Contains(one.string()) && Catch::Contains(two.string()) &&
                                     Catch::Contains("--output"));
        CHECK(file_text(run.old / "metrics.jsonl") + file_text(copy / "metrics.jsonl") == before);
    };
    refused({"--config", (copy / "config.yaml").string(), "--overwrite"}, copy, run.old);
    refused({"--config", (run.old / "config.yaml").string(), "--resume", copy.string()}, copy, run.old);
    refused({"--config", (run.old / "config.yaml").string(), "--resume", checkpoint_at(copy, 2).string()},
            copy, run.old);
    // --output says it: another run begins from the checkpoint.
    CHECK(run.go_on({"--config", (run.folder / "c.yaml").string(), "--resume", copy.string(), "--output",
                     other.string()})
              .exit_code == 0);
    CHECK(num_rows(other) == 2);
    CHECK(num_rows(copy) == 2);
}

// The commands that go through whole picture sets: stopped by signals, short of memory or disk.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/dataset_files.h"
#include "support/pictures.h"
#include "support/process.h"
#include "support/scratch_folder.h"

using namespace mpt::test;
namespace fs = std::filesystem;

namespace {

// Names of one large file: to decode them all takes minutes.
void write_slow_set(const DataFolder& folder) {
    folder.write("train/cat/0.jpg", encode_jpeg(test_picture(3000, 3000, 3), {.progressive = true}));
    for (const char* split : {"train/cat/", "train/dog/", "val/cat/", "val/dog/"}) {
        fs::create_directories(folder.file(split));
        for (int i = 1; i < 1000; ++i)
            fs::create_hard_link(folder.file("train/cat/0.jpg"),
                                 folder.file(split + std::to_string(i) + ".jpg"));
    }
}

std::string write_config(const ScratchFolder& scratch, const std::string& path,
                         const std::string& augment = "") {
    write_file(scratch / "c.yaml",
               "model: {type: resnet, depth: 20, num_classes: 2}\n"
               "data: {type: imagefolder, path: \"" +
                   path + "\", image_size: 32, channels: 3, workers: 1" + augment +
                   "}\ntrain: {steps: 2, batch_size: 2}\nthreads: 1\n");
    return (scratch / "c.yaml").string();
}

// Signal handlers are there: what follows is what they must be heeded in.
bool catches_signals(pid_t child) {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigCgt:"))
            return (std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
    return false;
}

Finished stopped_by(int signal, const ScratchFolder& scratch, const std::vector<std::string>& words) {
    Process process(scratch.path(), words);
    for (int i = 0; i < 3000 && !catches_signals(process.id()); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // into its work
    process.signal(signal);
    return process.wait();
}

void check_one_line(const std::string& text, const std::string& part) {
    CHECK_THAT(text, Catch::StartsWith("mpt-train: ") && Catch::Contains(part));
    CHECK(text.find('\n') == text.size() - 1);
}

}  // namespace

TEST_CASE("H35: commands over all pictures stop by signals, with their exit code and one line") {
    const DataFolder folder;
    write_slow_set(folder);
    const ScratchFolder scratch;
    const std::string config = write_config(scratch, folder.path());
    const std::string out = (scratch / "new" / "out").string();
    const std::vector<std::vector<std::string>> commands = {
        {"data", "--config", config, "--check"},
        {"data", "--config", config, "--show", "2000", "--out", out},
        {"data", "--config", config, "--bench", "--seconds", "600"},
        {"--config", config, "--output", out, "--set", "data.broken=skip"},
        {"--config", config, "--output", out},  // constants of the training set
        {"pack", "--input", folder.path(), "--output", out},
        {"export-images", "--config", config, "--output", out}};
    for (const std::vector<std::string>& words : commands) {
        CAPTURE(words);
        const Finished finished = stopped_by(SIGINT, scratch, words);
        CHECK(finished.exit_code == 130);
        check_one_line(finished.err, "SIGINT");
    }
    CHECK_FALSE(fs::exists(scratch / "new"));
    CHECK(stopped_by(SIGTERM, scratch, commands[0]).exit_code == 143);
}

TEST_CASE("H35: a second signal ends at once, and says so") {
    const DataFolder folder;
    write_slow_set(folder);
    const ScratchFolder scratch;
    Process process(scratch.path(), {"data", "--config", write_config(scratch, folder.path()), "--check"});
    for (int i = 0; i < 3000 && !catches_signals(process.id()); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // into its work
    process.signal(SIGINT);  // of two kinds, so that they cannot become one on the way
    process.signal(SIGTERM);
    const Finished finished = process.wait();
    CHECK((finished.exit_code == 130 || finished.exit_code == 143));
    check_one_line(finished.err, "mpt-train: ended at once by a second signal, SIG");
    CHECK_THAT(finished.err, Catch::Contains("what was being written is not finished"));
}

#ifndef __SANITIZE_ADDRESS__  // the sanitizer takes terabytes of address space

TEST_CASE("short of memory is exit 6, and no picture's fault") {
    const DataFolder folder;
    const PictureBytes large = encode_jpeg(test_picture(4096, 4096, 3), {.quality = 50, .progressive = true});
    for (const char* name : {"train/a/1.jpg", "train/b/2.jpg", "val/a/1.jpg"}) folder.write(name, large);
    folder.write("train/a/0.png", encode_png(test_picture(4096, 4096, 3)));
    const ScratchFolder scratch;
    const std::string config = write_config(scratch, folder.path());
    const std::string commands[] = {
        "data --config " + config + " --check", "data --config " + config + " --set data.broken=skip",
        "pack --skip-broken --input " + folder.path() + " --output " + (scratch / "s").string()};
    for (const std::string& words : commands) {
        CAPTURE(words);
        const std::string line = "ulimit -v 110000; exec " + std::string(MPT_TRAIN) + " " + words + " > " +
                                 (scratch / "out").string() + " 2> " + (scratch / "err").string();
        const int status = std::system(("bash -c '" + line + "'").c_str());
        CHECK(WEXITSTATUS(status) == 6);
        const std::string said = file_text(scratch / "err") + file_text(scratch / "out");
        CAPTURE(said);
        CHECK(said.find("skipped") == std::string::npos);
        CHECK(said.find("left out") == std::string::npos);
    }
}

TEST_CASE("threads that the system refuses are done without") {
    const DataFolder folder;
    for (const char* name : {"train/a/1.png", "train/b/2.png", "val/a/1.png"})
        folder.write(name, encode_png(test_picture(20, 20, 3)));
    const ScratchFolder scratch;
    const std::string line = "ulimit -v 140000; exec " + std::string(MPT_TRAIN) +
                             " data --check --threads 64 --config " + write_config(scratch, folder.path());
    const int status = std::system(("bash -c '" + line + " > /dev/null'").c_str());
    REQUIRE(WIFEXITED(status));
    CAPTURE(WEXITSTATUS(status));
    CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 6));  // 6: a build that is larger itself
}

#endif

TEST_CASE("a full disk leaves no half of a contact sheet, and says why") {
    const DataFolder folder;
    for (const char* name : {"train/a/1.png", "train/b/2.png", "val/a/1.png"})
        folder.write(name, encode_png(test_picture(200, 200, 3)));
    const ScratchFolder scratch;
    const std::string config = write_config(scratch, folder.path());
    Process process(scratch.path(),
                    {"data", "--config", config, "--show", "4", "--out", (scratch / "o").string()},
                    {.file_size_limit = 1000});
    const Finished finished = process.wait();
    CHECK(finished.exit_code == 6);
    check_one_line(finished.err, "samples.png: cannot be written: File too large");
    CHECK(fs::is_empty(scratch / "o"));
}

TEST_CASE("what no clock can measure for is refused; a damaged shard is to be copied again") {
    const DataFolder folder;
    for (const char* name : {"train/a/1.png", "train/b/2.png", "val/a/1.png"})
        folder.write(name, encode_png(test_picture(20, 20, 3)));
    const ScratchFolder scratch;
    const std::string config = write_config(scratch, folder.path());
    Process nan(scratch.path(), {"data", "--config", config, "--bench", "--seconds", "nan"});
    const Finished refused = nan.wait();
    CHECK(refused.exit_code == 2);
    check_one_line(refused.err, "--seconds");
    const std::string shards = (scratch / "s").string();
    CHECK(Process(scratch.path(), {"pack", "--input", folder.path(), "--output", shards}).wait().exit_code ==
          0);
    std::string tar = file_text(scratch / "s" / "train-000000.tar");
    tar[140] = tar[140] == '0' ? '1' : '0';  // the time of a member
    write_file(scratch / "s" / "train-000000.tar", tar);
    Process check(scratch.path(), {"data", "--config", config, "--check", "--set", "data.type=shards",
                                   "data.path=" + shards});
    const Finished found = check.wait();
    CHECK(found.exit_code == 3);
    check_one_line(found.err, "1 shards with another checksum than the index's; copy them again");
    CHECK(found.err.find("skip") == std::string::npos);
}

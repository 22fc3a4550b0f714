// The command under limits: little address space, a full output, weights that no run could have left.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "support/errors.h"
#include "support/process.h"
#include "support/small_run.h"
#include "train/resume.h"

using namespace mpt;
namespace fs = std::filesystem;

namespace {

// By a shell, as limits and redirections are its business.
test::Finished shell(const test::ScratchFolder& folder, const std::string& before, const std::string& words,
                     const std::string& after = "") {
    const std::string out = (folder / "out").string(), err = (folder / "err").string();
    const std::string line =
        before + " exec " + MPT_TRAIN + " " + words + " > " + out + " 2> " + err + " " + after;
    const int status = std::system(("bash -c '" + line + "'").c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {code, test::file_text(folder / "out"), test::file_text(folder / "err"), 0};
}

std::string images(const test::ScratchFolder& folder, int batch, const std::string& more = "") {
    test::write_file(folder / "c.yaml",
                     "model: {type: resnet, depth: 20}\n"
                     "data: {type: synthetic, image_size: 32, channels: 3, num_samples: 64, workers: 0}\n"
                     "train: {steps: 1, batch_size: " +
                         std::to_string(batch) + "}\nthreads: 2\n" + more);
    return "--config " + (folder / "c.yaml").string() + " --output " + (folder / "run").string() +
           " --overwrite";
}

bool is_one_line(const std::string& text) {
    return !text.empty() && text.find('\n') == text.size() - 1;
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // the sanitizer takes terabytes of address space

TEST_CASE("with little address space every command ends with exit 6 and one line, or works") {
    const test::ScratchFolder folder;
    const std::string train = images(folder, 8);
    const std::string config = "--config " + (folder / "c.yaml").string();
    for (const int kib : {60000, 80000, 100000, 130000, 160000, 200000})
        for (const std::string& words : {train, "plan " + config, "bench --steps 1 --warmup 0 " + config}) {
            CAPTURE(kib, words);
            const test::Finished run = shell(folder, "ulimit -v " + std::to_string(kib) + ";", words);
            CAPTURE(run.err);
            CHECK((run.exit_code == 0 || run.exit_code == 6));
            if (run.exit_code == 6) CHECK(is_one_line(run.err));
        }
}

#endif

TEST_CASE("an output that takes nothing is a fault, a reader that went away is none") {
    const test::ScratchFolder folder;
    images(folder, 8);
    const std::string plan = "plan --every-op --config " + (folder / "c.yaml").string();
    const test::Finished full = shell(folder, "", plan, "> /dev/full");
    CHECK(full.exit_code == 6);
    CHECK_THAT(full.err, Catch::Contains("standard output cannot be written"));
    CHECK(is_one_line(full.err));
    const std::string command =
        std::string(MPT_TRAIN) + " " + plan + " | head -1 > /dev/null; exit ${PIPESTATUS[0]}";
    CHECK(std::system(("bash -c '" + command + "'").c_str()) == 0);
}

TEST_CASE("a negative running variance is refused wherever weights come from") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    test::run(config);
    const fs::path checkpoint = test::checkpoint_at(folder / "run", 4);
    // The same tensors with one variance below zero, as a file of weights of its own.
    TrainingProgram program(
        config,
        [] {
            DataDescription data;
            data.height = data.width = 8;
            data.channels = 1;
            data.num_classes = 4;
            data.micro_batch = {.rows = 4};
            return data;
        }(),
        1);
    program.allocate();
    load_weights(program, checkpoint.string());
    const int index = program.variables().find("layer1.0.bn1.running_var");
    REQUIRE(index >= 0);
    reinterpret_cast<float*>(program.region(Region::kStatistics))[program.variables()[index].offset] = -0.5F;
    const fs::path bad = folder / "bad.safetensors";
    write_tensors(bad, weight_tensors(store_of(program)), std::nullopt);
    const auto refused =
        Catch::Contains("bad.safetensors: layer1.0.bn1.running_var holds a negative variance");
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [&] { load_weights(program, bad.string()); }), refused);
    config.output_dir = (folder / "second").string();
    config.checkpoint.init_from = bad.string();
    CHECK_THAT(test::error_of(ExitCode::kCheckpoint, [&] { test::run(config); }), refused);
}

TEST_CASE("an override of precision that names no op is refused, one that names some is not") {
    const test::ScratchFolder folder;
    RunConfig config = test::small_config(folder / "run");
    config.precision.mode = PrecisionMode::kAmpFp16;
    config.precision.overrides = {{"layer3.*", DType::f32}, {"layer9.*", DType::f32}};
    CHECK_THAT(test::error_of(ExitCode::kUsage, [&] { test::run(config); }),
               Catch::Contains("precision.overrides: match 'layer9.*' names no op"));
    config.precision.overrides.pop_back();
    CHECK_NOTHROW(test::run(config));
}

// The memory plan against what the process really takes.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "support/process.h"

using namespace mpt;

#ifndef __SANITIZE_ADDRESS__  // the sanitizer takes memory of its own: nothing to compare

namespace {

// "  <label> ... 12.34 MiB" in the run's output, in bytes.
double printed_bytes(const std::string& out, const std::string& label) {
    const std::size_t at = out.find(label);
    REQUIRE(at != std::string::npos);
    return std::strtod(out.c_str() + at + label.size(), nullptr) * 1024 * 1024;
}

constexpr double kProgramBytes =
    64.0 * 1024 * 1024;  // the README's allowance for program, libraries and kernels

}  // namespace

TEST_CASE("resident memory is the printed plan within 10 % and the program itself") {
    const auto mode = GENERATE(as<std::string>{}, "fp32", "amp_fp16");
    const test::ScratchFolder folder;
    test::write_file(folder / "c.yaml",
                     "model: {type: resnet, depth: 20}\n"
                     "precision: {mode: " +
                         mode +
                         "}\n"
                         "data: {type: synthetic, image_size: 28, channels: 1, num_samples: 1024}\n"
                         "train: {steps: 2, batch_size: 512}\n");
    const test::Finished run = test::Process(folder.path(), {"--config", (folder / "c.yaml").string(),
                                                             "--output", (folder / "run").string()})
                                   .wait();
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    const double planned =
        printed_bytes(run.out, "arena = peak") + printed_bytes(run.out, "data set and batches");
    CAPTURE(mode, planned, run.peak_bytes);
    CHECK(planned > 200e6);  // large enough for 10 % to mean something
    CHECK(static_cast<double>(run.peak_bytes) <= 1.1 * planned + kProgramBytes);
    CHECK(static_cast<double>(run.peak_bytes) >= 0.9 * planned);
}

#endif

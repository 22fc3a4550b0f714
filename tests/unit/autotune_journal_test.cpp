// The journal of measured choices, and what a compute capability means.
#include <catch2/catch.hpp>

#include "backends/cuda/generations.h"
#include "backends/cuda/journal.h"
#include "support/scratch_folder.h"

using namespace mpt;
using gpu::Journal;

TEST_CASE("a journal keeps choices from one process to the next, apart for each machine") {
    const test::ScratchFolder folder;
    const std::string path = (folder.path() / "journal.tsv").string();
    {
        Journal journal(path, "GPU one");
        CHECK_FALSE(journal.find("product 1x2x3").has_value());
        journal.add("product 1x2x3", "7");
        journal.add("product 1x2x3", "8");  // the later choice counts
        CHECK(journal.find("product 1x2x3") == "8");
    }
    CHECK(Journal(path, "GPU one").find("product 1x2x3") == "8");
    CHECK_FALSE(Journal(path, "GPU two").find("product 1x2x3").has_value());
}

TEST_CASE("a journal that cannot be written is no failure") {
    Journal journal("/nowhere/journal.tsv", "GPU");
    journal.add("a", "b");
    CHECK(journal.find("a") == "b");
    Journal none("", "GPU");
    none.add("a", "c");
    CHECK(none.find("a") == "c");
}

TEST_CASE("dense peaks are those of the makers' papers") {
    gpu::DeviceInfo a100;
    a100.compute_capability = 80;
    a100.num_sms = 108;
    a100.sm_clock_khz = 1410000;
    CHECK(gpu::peaks_of(a100).f16 == Approx(312).epsilon(0.01));
    CHECK(gpu::peaks_of(a100).tf32 == Approx(156).epsilon(0.01));
    CHECK(gpu::peaks_of(a100).f32 == Approx(19.5).epsilon(0.01));
    CHECK(gpu::peaks_of(a100).fp8 == 0);
    gpu::DeviceInfo h100;
    h100.compute_capability = 90;
    h100.num_sms = 132;
    h100.sm_clock_khz = 1830000;  // boost of the SXM part
    CHECK(gpu::peaks_of(h100).bf16 == Approx(989).epsilon(0.01));
    CHECK(gpu::generation_of(120) == "Blackwell");
    CHECK(gpu::generation_of(60) == "unknown");
    CHECK(gpu::tensor_formats(75) == std::vector<std::string>{"f16"});
    CHECK(gpu::tensor_formats(90) == std::vector<std::string>{"f16", "bf16", "tf32", "fp8", "2:4"});
}

// The GPU table against what vendors publish, and the names by which its rows are found.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "forecast/gpu.h"
#include "forecast/roofline.h"
#include "forecast/scaling.h"

using namespace mpt;

TEST_CASE("every GPU is found by its name and by each alias, whatever the case") {
    REQUIRE(gpu_table().size() == 16);  // 15 names of the csv, the V100 in two sizes of memory
    for (const Gpu& gpu : gpu_table()) {
        CAPTURE(gpu.name);
        CHECK(find_gpu(gpu.name).name == gpu.name);
        REQUIRE_FALSE(gpu.aliases.empty());
        for (const std::string& alias : gpu.aliases) {
            CHECK(find_gpu(alias).name == gpu.name);
            std::string lower;
            for (const char c : alias) lower += c == '-' ? ' ' : static_cast<char>(std::tolower(c));
            CHECK(find_gpu(lower).name == gpu.name);
        }
    }
}

TEST_CASE("an unknown GPU is refused with the names there are") {
    CHECK_THROWS_WITH(find_gpu("A1000"), Catch::Contains("no GPU 'A1000'") && Catch::Contains("H200-SXM") &&
                                             Catch::Contains("RTX5090"));
    CHECK_THROWS_AS(find_gpu(""), Error);
}

TEST_CASE("peaks of the table are those of the datasheets, within 1.3 %") {
    // Reference: the csv's column of published dense TFLOPS.
    std::istringstream lines{std::string(kGpuTableText)};
    std::string line;
    std::getline(lines, line);
    int compared = 0;
    while (std::getline(lines, line)) {
        std::vector<std::string> fields(1);
        for (const char c : line)
            if (c == ',')
                fields.emplace_back();
            else
                fields.back() += c;
        if (fields[9].empty()) continue;
        CAPTURE(line);
        CHECK(find_gpu(fields[0]).tflops.at(fields[6]) ==
              Approx(std::strtod(fields[9].c_str(), nullptr)).epsilon(0.013));
        ++compared;
    }
    CHECK(compared > 35);
}

TEST_CASE("what a generation lacks has no peak") {
    CHECK(find_gpu("V100").peak(ComputeFormat::kBf16) == 0);
    CHECK(find_gpu("T4").peak(ComputeFormat::kTf32) == 0);
    CHECK(find_gpu("A100").peak(ComputeFormat::kFp8) == 0);
    CHECK(find_gpu("A100").peak(ComputeFormat::kF16) == Approx(311.9e12));
    CHECK(find_gpu("V100-32GB").memory_bytes == std::int64_t{32} << 30);
    CHECK(find_gpu("V100").memory_bytes == std::int64_t{16} << 30);
    CHECK(find_gpu("V100").generation() == "Volta");
    CHECK(find_gpu("T4").generation() == "Turing");
    CHECK(find_gpu("3090").generation() == "Ampere");
    CHECK(find_gpu("4090").generation() == "Ada");
    CHECK(find_gpu("H200").generation() == "Hopper");
    CHECK(find_gpu("5090").generation() == "Blackwell");
}

TEST_CASE("a driver's name of a GPU is one of the table, or none") {
    CHECK(gpu_of_driver("NVIDIA H200")->name == "H200-SXM");
    CHECK(gpu_of_driver("NVIDIA H100 80GB HBM3")->name == "H100-SXM5");
    CHECK(gpu_of_driver("NVIDIA H100 PCIe")->name == "H100-PCIe");
    CHECK(gpu_of_driver("NVIDIA A100-SXM4-40GB")->name == "A100-SXM4-40GB");
    CHECK(gpu_of_driver("NVIDIA GeForce RTX 4090")->name == "RTX4090");
    CHECK(gpu_of_driver("Tesla V100-SXM2-16GB")->name == "V100-SXM2");
    CHECK(gpu_of_driver("NVIDIA L40S")->name == "L40S");
    CHECK(gpu_of_driver("Voodoo 2") == nullptr);
}

TEST_CASE("fp8 products are multiplied in fp8 where the GPU can, elsewhere in bf16") {
    Product fp8;
    fp8.m = 4096, fp8.n = fp8.out_features = 1024, fp8.k = fp8.in_features = 768;
    fp8.operand = DType::bf16;
    fp8.fp8 = true;
    CHECK(compute_format(fp8, Tf32::kOff, find_gpu("H100")) == ComputeFormat::kFp8);
    CHECK(compute_format(fp8, Tf32::kOff, find_gpu("A100")) == ComputeFormat::kBf16);
    CHECK(compute_format(fp8, Tf32::kOff, find_gpu("V100")) == ComputeFormat::kF32);
}

TEST_CASE("a ring all-reduce moves 2 (n - 1) / n of the gradients") {
    const Gpu& gpu = find_gpu("A100");
    const Link link = find_link("100", gpu);  // 100 GB/s, of which 0.8 are sustained
    const Scaling four = scale(4, link, 8e9, 1000, 0);
    // 1.5 * 8 GB / 80 GB/s = 150 ms, and 320 buckets of 6 steps of 10 us.
    CHECK(four.all_reduce_ms == Approx(150 + 320 * 6 * 0.01));
    CHECK(four.exposed_ms == Approx(four.all_reduce_ms));  // no backward pass to hide behind
    CHECK(four.efficiency == Approx(1000 / (1000 + four.exposed_ms)));
    const Scaling hidden = scale(4, link, 8e9, 1000, 900);
    CHECK(hidden.exposed_ms == Approx(hidden.all_reduce_ms / 320));  // the last bucket
    CHECK(scale(1, link, 8e9, 1000, 900).efficiency == 1);
    CHECK(find_link("", gpu).name == "nvlink");
    CHECK(find_link("", find_gpu("T4")).name == "pcie3");
    CHECK_THROWS_AS(find_link("tin cans", gpu), Error);
    CHECK_THROWS_AS(find_link("-3", gpu), Error);
}

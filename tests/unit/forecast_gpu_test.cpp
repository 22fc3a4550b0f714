// The GPU table against what vendors publish, and the names by which its rows are found.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "forecast/device_peaks.h"
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
    CHECK(gpu_of_driver("Tesla V100-SXM2-32GB")->name == "V100-SXM2-32GB");
    CHECK(gpu_of_driver("NVIDIA A100-SXM4-80GB")->name == "A100-SXM4-80GB");
    CHECK(gpu_of_driver("NVIDIA GeForce RTX 3090")->name == "RTX3090");
    CHECK(gpu_of_driver("NVIDIA GeForce RTX 2080 Ti")->name == "RTX2080Ti-FE");
    CHECK(gpu_of_driver("Tesla T4")->name == "T4");
    CHECK(gpu_of_driver("NVIDIA Tesla T4")->name == "T4");
    CHECK(gpu_of_driver("NVIDIA B200")->name == "B200-HGX");
    CHECK(gpu_of_driver("NVIDIA H200 141GB HBM3e")->name == "H200-SXM");
}

TEST_CASE("a sister with other clocks, or a slice, is not taken for a GPU of the table") {
    for (const char* name :
         {"Voodoo 2", "", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
          "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA A100 80GB PCIe", "NVIDIA A100-PCIE-40GB",
          "Tesla V100-PCIE-16GB", "NVIDIA A10G", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4090 D",
          "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GH200 480GB"}) {
        CAPTURE(name);
        CHECK(gpu_of_driver(name) == nullptr);
    }
}

namespace {

gpu::DeviceInfo device(const char* name, int capability, int num_sms, int mhz) {
    gpu::DeviceInfo info;
    info.name = name;
    info.compute_capability = capability;
    info.num_sms = num_sms;
    info.sm_clock_khz = mhz * 1000;
    return info;
}

}  // namespace

TEST_CASE("a GPU at hand has the peaks that its maker states, not those of the driver's greatest clock") {
    // The datasheets' dense figures; the driver of an H100 or H200 reports 1980 MHz, of GeForces over 2 GHz.
    const DevicePeaks h100 = peaks_of(device("NVIDIA H100 80GB HBM3", 90, 132, 1980));
    CHECK(h100.of(ComputeFormat::kF16) == Approx(989.4).epsilon(0.001));
    CHECK(h100.of(ComputeFormat::kBf16) == Approx(989.4).epsilon(0.001));
    CHECK(h100.of(ComputeFormat::kTf32) == Approx(494.7).epsilon(0.001));
    CHECK(h100.of(ComputeFormat::kFp8) == Approx(1979).epsilon(0.001));
    CHECK(h100.source() == "gpu_table.csv, H100-SXM5");
    CHECK(h100.clock_mhz == 1830);
    CHECK(peaks_of(device("NVIDIA H200", 90, 132, 1980)).of(ComputeFormat::kF16) ==
          Approx(989.4).epsilon(0.001));
    const DevicePeaks rtx3090 = peaks_of(device("NVIDIA GeForce RTX 3090", 86, 82, 2100));
    CHECK(rtx3090.of(ComputeFormat::kF16) == Approx(71).epsilon(0.005));  // sums in f32
    CHECK(rtx3090.of(ComputeFormat::kFp8) == 0);
    const DevicePeaks t4 = peaks_of(device("Tesla T4", 75, 40, 1590));
    CHECK(t4.of(ComputeFormat::kF32) == Approx(8.1).epsilon(0.01));
    CHECK(t4.of(ComputeFormat::kBf16) == 0);
}

TEST_CASE("peaks of a GPU that the table lacks are computed, and said to be") {
    const DevicePeaks ti = peaks_of(device("NVIDIA GeForce RTX 3090 Ti", 86, 84, 1860));
    CHECK(ti.source() == "computed");
    CHECK(ti.clock_mhz == 1860);
    // NVIDIA states 40 TFLOP/s of f32; GA102's Tensor Cores make twice that with sums in f32.
    CHECK(ti.of(ComputeFormat::kF32) == Approx(40).epsilon(0.01));
    CHECK(ti.of(ComputeFormat::kF16) == Approx(80).epsilon(0.01));
    // A slice that is called like the whole: 16 of 132 SMs.
    const DevicePeaks slice = peaks_of(device("NVIDIA H100 80GB HBM3", 90, 16, 1980));
    CHECK(slice.source() == "computed");
    CHECK(slice.of(ComputeFormat::kF16) == Approx(2e-6 * 16 * 1980 * 2048));
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

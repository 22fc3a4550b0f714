// What `mpt-train devices` tells: of GPUs from descriptions, of processors from folders as Linux has them.
#include "study/device_report.h"

#include <catch2/catch.hpp>

#include "support/scratch_folder.h"

using namespace mpt;
namespace fs = std::filesystem;

namespace {

gpu::DeviceInfo h100() {
    gpu::DeviceInfo info;
    info.index = 1;
    info.name = "NVIDIA H100 80GB HBM3";
    info.compute_capability = 90;
    info.num_sms = 132;
    info.sm_clock_khz = 1980000;
    info.memory_clock_khz = 2619000;
    info.memory_bus_bits = 5120;
    info.memory_bytes = 85'000'000'000;
    info.l2_bytes = 50 << 20;
    info.driver = "13.0";
    info.runtime = "12.8";
    info.cudnn = "9.19.0";
    info.cublas = "13.0.2";
    return info;
}

// Two packages of two cores of two threads each.
std::string cpuinfo(const std::string& vendor, int family, int model, const std::string& flags) {
    std::string text;
    for (int i = 0; i < 8; ++i)
        text += "processor\t: " + std::to_string(i) + "\nvendor_id\t: " + vendor +
                "\ncpu family\t: " + std::to_string(family) + "\nmodel\t\t: " + std::to_string(model) +
                "\nmodel name\t: Fast CPU @ 2 GHz\nphysical id\t: " + std::to_string(i / 2 % 2) +
                "\ncore id\t\t: " + std::to_string(i % 2) + "\nflags\t\t: fpu " + flags + "\n\n";
    return text;
}

cpu::Processor processor(const test::ScratchFolder& root, const std::string& text) {
    fs::create_directories(root / "proc");
    test::write_file(root / "proc/cpuinfo", text);
    test::write_file(root / "proc/meminfo", "MemTotal:       16384000 kB\nMemFree:         1 kB\n");
    int khz = 3'000'000;
    for (const char* core : {"cpu0", "cpu1"}) {
        const fs::path folder = root / ("sys/devices/system/cpu/" + std::string(core) + "/cpufreq");
        fs::create_directories(folder);
        test::write_file(folder / "cpuinfo_max_freq", std::to_string(khz += 250'000) + "\n");
    }
    return cpu::read_processor(root.path());
}

}  // namespace

TEST_CASE("the report of a GPU is strict JSON with clocks, memory, peaks and their source, and versions") {
    const auto report = nlohmann::json::parse(gpu_report(h100(), "580.65.06").dump());
    CHECK(report.at("device") == "cuda:1");
    CHECK(report.at("compute_capability") == "9.0");
    CHECK(report.at("generation") == "Hopper");
    CHECK(report.at("tensor_core_formats") == nlohmann::json({"f16", "bf16", "tf32", "fp8", "2:4"}));
    CHECK(report.at("sms") == 132);
    CHECK(report.at("sm_clock_mhz") == 1980);
    CHECK(report.at("memory_clock_mhz") == 2619);
    CHECK(report.at("memory_bytes") == 85'000'000'000);
    CHECK(report.at("memory_gb_per_second").get<double>() ==
          Approx(3352).epsilon(0.001));  // datasheet: 3.35 TB/s
    CHECK(report.at("dense_tflops").at("f16").get<double>() == Approx(989.4).epsilon(0.001));
    CHECK(report.at("dense_tflops_source") == "gpu_table.csv, H100-SXM5");
    CHECK(report.at("dense_tflops_clock_mhz") == 1830);
    CHECK(report.at("driver") == "580.65.06");
    CHECK(report.at("driver_cuda") == "13.0");
    CHECK(report.at("cuda_runtime") == "12.8");
    CHECK(report.at("precision_modes") == "fp32, tf32, amp_fp16, amp_bf16, fp16_pure, fp8");
    CHECK(gpu_text(report) ==
          "cuda:1: NVIDIA H100 80GB HBM3, Hopper (compute capability 9.0)\n"
          "  Tensor Cores: f16 bf16 tf32 fp8 2:4; 132 SMs at up to 1980 MHz, 50 MiB of L2 cache\n"
          "  memory: 79.2 GiB at 2619 MHz, 5120 bits: 3352 GB/s\n"
          "  dense peaks, TFLOP/s at 1830 MHz (gpu_table.csv, H100-SXM5): bf16 989 f16 989 fp32 61.8 fp8 "
          "1979 tf32 495\n"
          "  driver 580.65.06 (up to CUDA 13.0), CUDA 12.8, cuDNN 9.19.0, cuBLASLt 13.0.2\n"
          "  precision.mode: fp32, tf32, amp_fp16, amp_bf16, fp16_pure, fp8\n");
}

TEST_CASE("a GPU that the table lacks, without NVML, says what is computed and what is unknown") {
    gpu::DeviceInfo info = h100();
    info.name = "NVIDIA GeForce GTX 1660";
    info.compute_capability = 75;
    const auto report = gpu_report(info, "");
    CHECK(report.at("driver").is_null());
    CHECK(report.at("dense_tflops_source") == "computed");
    CHECK(report.at("dense_tflops_clock_mhz") == 1980);
    CHECK(report.at("dense_tflops").at("bf16") == 0);
    CHECK(report.at("precision_modes") == "fp32, amp_fp16, fp16_pure");
    CHECK_THAT(gpu_text(report), Catch::Contains("at 1980 MHz (computed):") &&
                                     Catch::Contains("driver unknown (up to CUDA 13.0)"));
}

TEST_CASE("a processor is read from /proc and /sys, its peaks are cores x clock x multiply-adds") {
    const test::ScratchFolder root;
    // Sapphire Rapids: two 512-bit units a core, 64 flops a clock; 3.5 GHz is the faster core's.
    const cpu::Processor p = processor(
        root, cpuinfo("GenuineIntel", 6, 0x8f, "avx2 fma avx512f avx512_bf16 avx512_fp16 amx_bf16"));
    CHECK(p.name == "Fast CPU @ 2 GHz");
    CHECK(p.physical_cores == 4);
    CHECK(p.threads == 8);
    CHECK(p.mhz == 3500);
    CHECK(p.memory_bytes == 16384000 * std::int64_t{1024});
    const auto report = nlohmann::json::parse(cpu_report(p, 8).dump());
    CHECK(report.at("physical_cores") == 4);
    CHECK(report.at("threads") == 8);
    CHECK(report.at("usable_threads") == 8);
    CHECK(report.at("clock_mhz") == 3500);
    CHECK(report.at("clock_source") == "cpufreq");
    CHECK(report.at("computed_for_cores") == 4);  // two threads of a core share its units
    CHECK(report.at("computed_f32_gflops").at("avx512").get<double>() == Approx(4 * 3.5 * 64));
    CHECK(report.at("computed_f32_gflops").at("avx2").get<double>() == Approx(4 * 3.5 * 32));
    CHECK(report.at("matrix_formats").size() == 3);
    CHECK(report.at("matrix_formats")[0] ==
          nlohmann::json({{"format", "bf16"}, {"instructions", "avx512_bf16"}, {"used", true}}));
    CHECK_THAT(cpu_text(report),
               Catch::Contains("cpu: Fast CPU @ 2 GHz, 4 cores, 8 threads, 8 usable, at up to 3500 MHz\n") &&
                   Catch::Contains("memory: 15.6 GiB") && Catch::Contains("computed") &&
                   Catch::Contains("for 4 cores: avx2 448 avx512 896\n") &&
                   Catch::Contains(
                       "bf16 by avx512_bf16; there, but not used: bf16 by amx_bf16, f16 by avx512_fp16"));
    CHECK(cpu_report(p, 3).at("computed_for_cores") == 3);
}

TEST_CASE("processors that do 512 bits in two halves, or not at all, have the peaks of that") {
    const test::ScratchFolder root;
    const auto flops = [&](const std::string& vendor, int family, int model, const std::string& flags) {
        const cpu::Processor p = processor(root, cpuinfo(vendor, family, model, flags));
        return std::pair(p.avx2_flops_per_clock(), p.avx512_flops_per_clock());
    };
    const std::string both = "avx2 fma avx512f";
    CHECK(flops("AuthenticAMD", 25, 17, both) == std::pair(32.0, 32.0));         // Zen 4
    CHECK(flops("AuthenticAMD", 26, 2, both) == std::pair(32.0, 64.0));          // Zen 5, server
    CHECK(flops("AuthenticAMD", 26, 0x24, both) == std::pair(32.0, 32.0));       // Zen 5, mobile
    CHECK(flops("AuthenticAMD", 23, 1, "avx2 fma") == std::pair(16.0, 0.0));     // Zen 1
    CHECK(flops("AuthenticAMD", 23, 0x31, "avx2 fma") == std::pair(32.0, 0.0));  // Zen 2
    CHECK(flops("GenuineIntel", 6, 0x7e, both) == std::pair(32.0, 32.0));        // Ice Lake, client
    CHECK(flops("GenuineIntel", 6, 0x3c, "avx2 fma") == std::pair(32.0, 0.0));   // Haswell
    CHECK(flops("GenuineIntel", 6, 0x2a, "avx") == std::pair(0.0, 0.0));         // Sandy Bridge
}

TEST_CASE("a system that tells nothing has no peaks") {
    const test::ScratchFolder root;
    const auto report = cpu_report(cpu::read_processor(root.path()), 1);
    CHECK(report.at("name") == "CPU");
    CHECK(report.at("clock_source") == "unknown");
    CHECK(report.at("computed_f32_gflops").empty());
    CHECK_THAT(cpu_text(report), Catch::Contains("f32 alone"));
}

#include "study/device_report.h"

#include <fmt/core.h>

#include "backends/cpu/versions.h"
#include "forecast/device_peaks.h"
#include "train/device_modes.h"
#include "train/run_device.h"

namespace mpt {

namespace {

std::string text_of(const nlohmann::json& report, const char* key) {
    return report.at(key).is_null() ? "unknown" : report.at(key).get<std::string>();
}

double gib_of(const nlohmann::json& report) {
    return static_cast<double>(report.at("memory_bytes").get<std::int64_t>()) / 0x1p30;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
    return text.empty() ? "none" : text;
}

// " name 1.5" of each number of an object that is not 0.
std::string numbers_of(const nlohmann::json& object, const char* none) {
    std::string text;
    for (const auto& [name, value] : object.items()) {
        const double number = value.get<double>();
        if (number > 0) text += fmt::format(" {} {:.{}f}", name, number, number < 100 ? 1 : 0);
    }
    return text.empty() ? none : text;
}

std::string matrix_formats_of(const nlohmann::json& report) {
    std::string used, unused;
    for (const auto& entry : report.at("matrix_formats")) {
        std::string& text = entry.at("used").get<bool>() ? used : unused;
        text +=
            (text.empty() ? "" : ", ") + text_of(entry, "format") + " by " + text_of(entry, "instructions");
    }
    if (used.empty() && unused.empty()) return "f32 alone";
    return used + (unused.empty() ? "" : (used.empty() ? "" : "; ") + ("there, but not used: " + unused));
}

}  // namespace

nlohmann::json gpu_report(const gpu::DeviceInfo& info, const std::string& driver_release) {
    const DevicePeaks peaks = peaks_of(info);
    const int capability = info.compute_capability;
    nlohmann::json report = {{"device", fmt::format("cuda:{}", info.index)},
                             {"name", info.name},
                             {"compute_capability", fmt::format("{}.{}", capability / 10, capability % 10)},
                             {"generation", gpu::generation_of(capability)},
                             {"tensor_core_formats", gpu::tensor_formats(capability)},
                             {"sms", info.num_sms},
                             {"sm_clock_mhz", info.sm_clock_khz / 1000},
                             {"memory_clock_mhz", info.memory_clock_khz / 1000},
                             {"memory_bus_bits", info.memory_bus_bits},
                             {"memory_bytes", info.memory_bytes},
                             {"memory_gb_per_second", gpu::memory_gb_per_second(info)},
                             {"l2_bytes", info.l2_bytes},
                             {"dense_tflops",
                              {{"fp32", peaks.tflops.f32},
                               {"tf32", peaks.tflops.tf32},
                               {"f16", peaks.tflops.f16},
                               {"bf16", peaks.tflops.bf16},
                               {"fp8", peaks.tflops.fp8}}},
                             {"dense_tflops_source", peaks.source()},
                             {"dense_tflops_clock_mhz", peaks.clock_mhz},
                             {"driver", nullptr},
                             {"driver_cuda", info.driver},
                             {"cuda_runtime", info.runtime},
                             {"cudnn", info.cudnn},
                             {"cublaslt", info.cublas},
                             {"precision_modes", modes_of(info)}};
    if (!driver_release.empty()) report["driver"] = driver_release;
    return report;
}

nlohmann::json cpu_report(const cpu::Processor& p, int usable_threads) {
    nlohmann::json peaks = nlohmann::json::object(), formats = nlohmann::json::array();
    const int cores = p.cores_of(usable_threads);
    const auto add_peak = [&](const char* name, double flops_per_clock) {
        if (flops_per_clock > 0) peaks[name] = p.f32_gflops(flops_per_clock, cores);
    };
    add_peak("avx2", p.avx2_flops_per_clock());
    add_peak("avx512", p.avx512_flops_per_clock());
    for (const cpu::MatrixFormat& format : p.matrix_formats)
        formats.push_back(
            {{"format", format.format}, {"instructions", format.instructions}, {"used", format.used}});
    return {{"name", p.name},
            {"physical_cores", p.physical_cores},
            {"threads", p.threads},
            {"usable_threads", usable_threads},
            {"clock_mhz", p.mhz},
            {"clock_source", p.mhz == 0       ? "unknown"
                             : p.measured_mhz ? "measured"
                                              : "cpufreq"},
            {"memory_bytes", p.memory_bytes},
            {"instruction_sets", cpu::instruction_sets()},
            {"computed_f32_gflops", peaks},
            {"computed_for_cores", cores},
            {"matrix_formats", formats},
            {"precision_modes", modes_of(nullptr)}};
}

std::string gpu_text(const nlohmann::json& d) {
    std::string text =
        fmt::format("{}: {}, {} (compute capability {})\n", text_of(d, "device"), text_of(d, "name"),
                    text_of(d, "generation"), text_of(d, "compute_capability"));
    text += fmt::format("  Tensor Cores: {}; {} SMs at up to {} MHz, {:.0f} MiB of L2 cache\n",
                        joined(d.at("tensor_core_formats").get<std::vector<std::string>>(), " "),
                        d.at("sms").get<int>(), d.at("sm_clock_mhz").get<int>(),
                        static_cast<double>(d.at("l2_bytes").get<std::int64_t>()) / 0x1p20);
    text += fmt::format("  memory: {:.1f} GiB at {} MHz, {} bits: {:.0f} GB/s\n", gib_of(d),
                        d.at("memory_clock_mhz").get<int>(), d.at("memory_bus_bits").get<int>(),
                        d.at("memory_gb_per_second").get<double>());
    text += fmt::format("  dense peaks, TFLOP/s at {:.0f} MHz ({}):{}\n",
                        d.at("dense_tflops_clock_mhz").get<double>(), text_of(d, "dense_tflops_source"),
                        numbers_of(d.at("dense_tflops"), " unknown"));
    text += fmt::format("  driver {} (up to CUDA {}), CUDA {}, cuDNN {}, cuBLASLt {}\n", text_of(d, "driver"),
                        text_of(d, "driver_cuda"), text_of(d, "cuda_runtime"), text_of(d, "cudnn"),
                        text_of(d, "cublaslt"));
    return text + fmt::format("  precision.mode: {}\n", text_of(d, "precision_modes"));
}

std::string cpu_text(const nlohmann::json& d) {
    const double mhz = d.at("clock_mhz").get<double>();
    const std::string clock =
        mhz > 0 ? fmt::format(
                      "{:.0f} MHz{}", mhz,
                      text_of(d, "clock_source") == "measured" ? " (measured: the system tells none)" : "")
                : "a clock that the system does not tell";
    std::string text = fmt::format("cpu: {}, {} cores, {} threads, {} usable, at up to {}\n",
                                   text_of(d, "name"), d.at("physical_cores").get<int>(),
                                   d.at("threads").get<int>(), d.at("usable_threads").get<int>(), clock);
    text += fmt::format("  {}; memory: {:.1f} GiB\n", text_of(d, "instruction_sets"), gib_of(d));
    text += fmt::format("  f32 peaks, GFLOP/s, computed (cores x clock x multiply-adds) for {} cores:{}\n",
                        d.at("computed_for_cores").get<int>(),
                        numbers_of(d.at("computed_f32_gflops"), " none without AVX2"));
    text += fmt::format("  narrow products: {}\n", matrix_formats_of(d));
    return text + fmt::format("  precision.mode: {} (narrow types are stored; other arithmetic is f32)\n",
                              text_of(d, "precision_modes"));
}

}  // namespace mpt

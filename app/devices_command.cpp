#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "backends/cpu/threads.h"
#include "backends/cpu/versions.h"
#include "backends/cuda/device.h"
#include "backends/cuda/generations.h"
#include "command_line.h"
#include "commands.h"
#include "forecast/device_peaks.h"
#include "train/run_device.h"

namespace mpt::app {

namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

nlohmann::json described(const gpu::Device& device) {
    const gpu::DeviceInfo& info = device.info();
    const DevicePeaks from = peaks_of(info);
    const gpu::Peaks& peaks = from.tflops;
    return {{"device", fmt::format("cuda:{}", info.index)},
            {"name", info.name},
            {"compute_capability",
             fmt::format("{}.{}", info.compute_capability / 10, info.compute_capability % 10)},
            {"generation", gpu::generation_of(info.compute_capability)},
            {"tensor_core_formats", gpu::tensor_formats(info.compute_capability)},
            {"sms", info.num_sms},
            {"sm_clock_mhz", info.sm_clock_khz / 1000},
            {"memory_bytes", info.memory_bytes},
            {"memory_gb_per_second", gpu::memory_gb_per_second(info)},
            {"dense_tflops",
             {{"fp32", peaks.f32},
              {"tf32", peaks.tf32},
              {"f16", peaks.f16},
              {"bf16", peaks.bf16},
              {"fp8", peaks.fp8}}},
            {"dense_tflops_source", from.source()},
            {"dense_tflops_clock_mhz", from.clock_mhz},
            {"driver", info.driver},
            {"cuda_runtime", info.runtime},
            {"cudnn", info.cudnn},
            {"cublaslt", info.cublas},
            {"precision_modes", modes_of(&device)}};
}

void print_gpu(const nlohmann::json& d) {
    fmt::print("{}: {}, {} (compute capability {})\n", d["device"].get<std::string>(),
               d["name"].get<std::string>(), d["generation"].get<std::string>(),
               d["compute_capability"].get<std::string>());
    fmt::print("  Tensor Cores: {}; {} SMs at {} MHz; {:.1f} GiB at {:.0f} GB/s\n",
               joined(d["tensor_core_formats"].get<std::vector<std::string>>()), d["sms"].get<int>(),
               d["sm_clock_mhz"].get<int>(),
               static_cast<double>(d["memory_bytes"].get<std::int64_t>()) / 0x1p30,
               d["memory_gb_per_second"].get<double>());
    std::string peaks;
    for (const auto& [format, value] : d["dense_tflops"].items())
        if (value.get<double>() > 0) peaks += fmt::format(" {} {:.0f}", format, value.get<double>());
    fmt::print("  dense peaks, TFLOP/s at {:.0f} MHz ({}):{}\n", d["dense_tflops_clock_mhz"].get<double>(),
               d["dense_tflops_source"].get<std::string>(), peaks);
    fmt::print("  driver {}, CUDA {}, cuDNN {}, cuBLASLt {}\n  precision.mode: {}\n",
               d["driver"].get<std::string>(), d["cuda_runtime"].get<std::string>(),
               d["cudnn"].get<std::string>(), d["cublaslt"].get<std::string>(),
               d["precision_modes"].get<std::string>());
}

}  // namespace

int devices_command(const std::vector<std::string>& arguments) {
    CLI::App app("Lists the devices that a run can use.", "mpt-train devices");
    bool as_json = false;
    app.add_flag("--json", as_json, "one JSON object");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const gpu::DeviceCount found = gpu::count_devices();
    nlohmann::json all = {{"cuda_backend", gpu::built_with_cuda()}, {"gpus", nlohmann::json::array()}};
    if (!found.reason.empty()) all["no_gpu"] = found.reason;
    for (int i = 0; i < found.count; ++i) all["gpus"].push_back(described(*gpu::open_device(i)));
    all["cpu"] = {{"cores", cpu::num_usable_cores()},
                  {"instruction_sets", cpu::instruction_sets()},
                  {"precision_modes", modes_of(nullptr)}};
    if (as_json) {
        fmt::print("{}\n", all.dump(2));
        return 0;
    }
    for (const auto& gpu : all["gpus"]) print_gpu(gpu);
    if (!found.reason.empty()) fmt::print("cuda: {}\n", found.reason);
    fmt::print(
        "cpu: {} usable cores, {}\n  precision.mode: {} (narrow types are stored, arithmetic is f32)\n",
        cpu::num_usable_cores(), cpu::instruction_sets(), modes_of(nullptr));
    return 0;
}

}  // namespace mpt::app

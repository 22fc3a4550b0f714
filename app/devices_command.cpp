#include <fmt/core.h>

#include "backends/cpu/threads.h"
#include "backends/nvml/sensors.h"
#include "command_line.h"
#include "commands.h"
#include "study/device_report.h"

namespace mpt::app {

int devices_command(const std::vector<std::string>& arguments) {
    CLI::App app("Lists the devices that a run can use.", "mpt-train devices");
    app.footer(
        "GPUs: name, compute capability, formats of the Tensor Cores, clocks, memory, dense peaks (of "
        "lib/forecast/gpu_table.csv where it has the GPU, else computed, and which), driver and libraries. "
        "The CPU: "
        "cores, clock, memory, f32 peaks computed from them. Of both: the precision modes that run. "
        "README.md "
        "describes the keys of --json.");
    bool as_json = false;
    app.add_flag("--json", as_json, "one JSON object");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const gpu::DeviceCount found = gpu::count_devices();
    nlohmann::json all = {{"cuda_backend", gpu::built_with_cuda()}, {"gpus", nlohmann::json::array()}};
    if (!found.reason.empty()) all["no_gpu"] = found.reason;
    const std::string release = found.count > 0 ? nvml::driver_release() : "";
    for (int i = 0; i < found.count; ++i)
        all["gpus"].push_back(gpu_report(gpu::open_device(i)->info(), release));
    all["cpu"] = cpu_report(cpu::this_processor(), cpu::num_usable_cores());
    if (as_json) {
        fmt::print("{}\n", all.dump(2));
        return 0;
    }
    for (const auto& gpu : all["gpus"]) fmt::print("{}", gpu_text(gpu));
    if (!found.reason.empty()) fmt::print("cuda: {}\n", found.reason);
    fmt::print("{}", cpu_text(all["cpu"]));
    return 0;
}

}  // namespace mpt::app

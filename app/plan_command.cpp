#include <fmt/core.h>

#include "backends/cpu/threads.h"
#include "command_line.h"
#include "commands.h"
#include "plan_json.h"
#include "study/study.h"

namespace mpt::app {
namespace {

struct PlanOptions {
    ConfigOptions config;
    std::string gpu, num_gpus = "1", link, memory;
    bool json = false, every_op = false, calibration = false;
};

void declare(CLI::App& app, PlanOptions& options) {
    options.config.add_to(app);
    app.add_option("--gpu", options.gpu,
                   "forecast for this GPU instead of this machine's CPU; `list` names them")
        ->type_name("NAME");
    app.add_option("--gpus", options.num_gpus, "how many of them")->type_name("N");
    app.add_option("--link", options.link,
                   "between GPUs: nvlink, pcie3, pcie4, pcie5, eth100, ib200, ib400 or GB/s")
        ->type_name("LINK");
    app.add_option("--memory", options.memory, "memory to fit into, e.g. 24GiB, instead of the device's")
        ->type_name("BYTES");
    app.add_flag("--every-op", options.every_op, "the precision audit of each node");
    app.add_flag("--calibration", options.calibration,
                 "only the forecasts beside published throughput, of all networks");
    app.add_flag("--json", options.json, "all of it as one JSON object");
}

void list_gpus() {
    for (const Gpu& gpu : gpu_table()) {
        std::string aliases;
        for (const std::string& alias : gpu.aliases) aliases += (aliases.empty() ? "" : ", ") + alias;
        fmt::print("{:<16} {:<10} cc {}.{}  {:>3} SMs  {:>4} GiB  {:>5.0f} GB/s  {}\n", gpu.name,
                   gpu.generation(), gpu.major, gpu.minor, gpu.num_sms, gpu.memory_bytes >> 30,
                   gpu.bandwidth * 1e-9, aliases);
    }
}

StudyRequest request_of(const PlanOptions& options) {
    StudyRequest request;
    std::vector<std::string> overrides;
    if (!options.memory.empty()) {
        check_value("--memory", "memory.limit", options.memory);
        overrides.push_back("memory.limit=" + options.memory);
    }
    request.config = options.config.read(std::move(overrides)).config;
    if (!options.gpu.empty()) request.gpu = find_gpu(options.gpu);
    request.num_gpus = static_cast<int>(whole_of("--gpus", options.num_gpus, 1, kMostGpus));
    request.link = options.link;
    if (!options.memory.empty()) request.memory_bytes = request.config.memory.limit_bytes;
    return request;
}

}  // namespace

int plan_command(const std::vector<std::string>& arguments) {
    CLI::App app("Says what a run would need and how fast it would be, without allocating or training.",
                 "mpt-train plan");
    PlanOptions options;
    declare(app, options);
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    if (options.gpu == "list") {
        list_gpus();
        return 0;
    }
    if (options.calibration) {
        const std::vector<CalibrationRow> rows = calibrate(cpu::num_usable_cores());
        fmt::print("{}", options.json ? json_of(rows).dump(2) + "\n" : print(rows));
        return 0;
    }
    const PlanStudy plan = study(request_of(options));
    if (options.json)
        fmt::print("{}\n", json_of(plan).dump(2));
    else
        fmt::print("{}", print(plan, options.every_op ? Detail::kEveryOp : Detail::kSummary));
    return 0;
}

}  // namespace mpt::app

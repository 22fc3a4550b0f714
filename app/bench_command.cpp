#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "command_line.h"
#include "commands.h"
#include "stop_signals.h"
#include "study/bench.h"

namespace mpt::app {
namespace {

nlohmann::ordered_json json_of(const BenchResult& result) {
    nlohmann::ordered_json series = nlohmann::ordered_json::array();
    for (const BenchSeries& s : result.series)
        series.push_back({{"name", s.name},
                          {"per_second_median", s.per_second.median},
                          {"per_second_mean", s.per_second.mean},
                          {"per_second_p5", s.per_second.p5},
                          {"per_second_p95", s.per_second.p95},
                          {"update_total_ms", s.update_total_ms},
                          {"wait_ms", s.wait_ms},
                          {"forward_ms", s.forward_ms},
                          {"backward_ms", s.backward_ms},
                          {"update_ms", s.update_ms},
                          {"other_ms", s.other_ms}});
    nlohmann::ordered_json published;
    if (result.published)
        published = {{"per_second", result.published->per_second},
                     {"share", result.series.front().per_second.median / result.published->per_second},
                     {"source", result.published->source}};
    return {{"device", result.device},
            {"unit", result.unit},
            {"batch", result.batch},
            {"micro_batch", result.micro_batch},
            {"series", series},
            {"tflops", result.tflops},
            {"mfu", result.mfu},
            {"roofline_share", result.roofline_share},
            {"forecast_per_second", result.forecast_per_second},
            {"published", published},
            {"sensors", result.sensors},
            {"planned_mib", result.planned_mib},
            {"seen_mib", result.seen_mib},
            {"verdict", name_of(result.verdict)},
            {"reason", result.reason}};
}

}  // namespace

int bench_command(const std::vector<std::string>& arguments) {
    CLI::App app("Measures updates over one batch that stays and over the data, in turns.",
                 "mpt-train bench");
    ConfigOptions config;
    BenchRequest request;
    std::string steps = std::to_string(request.steps), warmup = std::to_string(request.warmup);
    bool json = false;
    config.add_to(app);
    app.add_option("--steps", steps, "measured updates of each kind")->type_name("N");
    app.add_option("--warmup", warmup, "updates of each kind before them")->type_name("N");
    app.add_flag("--json", json, "as one JSON object");
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    constexpr std::int64_t kMost = 1000000;
    request.steps = whole_of("--steps", steps, 1, kMost);
    request.warmup = whole_of("--warmup", warmup, 0, kMost);
    request.config = config.read().config;
    catch_stop_signals("before the bench's end");  // there is nothing to save
    const BenchResult result = bench(request);
    fmt::print("{}", json ? json_of(result).dump(2) + "\n" : print(result));
    return 0;
}

}  // namespace mpt::app

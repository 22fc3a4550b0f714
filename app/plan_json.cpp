#include "plan_json.h"

namespace mpt::app {
namespace {

using Json = nlohmann::ordered_json;

Json audit_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const AuditRow& row : study.audit)
        rows.push_back({{"node", row.node},
                        {"op", row.op},
                        {"phase", row.phase},
                        {"storage", row.storage},
                        {"compute", row.compute},
                        {"accumulate", row.accumulate},
                        {"kernel", row.kernel},
                        {"refused", row.refused}});
    return rows;
}

Json casts_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const CastRow& row : study.casts)
        rows.push_back({{"value", row.value},
                        {"from", row.from},
                        {"to", row.to},
                        {"bytes", row.bytes},
                        {"reason", row.reason}});
    return rows;
}

Json traffic_json(const FusionReport& fusion) {
    Json fusions = Json::array();
    for (const FusionSaving& saving : fusion.savings)
        fusions.push_back(
            {{"rewrite", saving.rewrite}, {"times", saving.times}, {"saved_bytes", saving.bytes}});
    return {{"bytes_per_sample", fusion.bytes_after},
            {"bytes_per_sample_unfused", fusion.bytes_before},
            {"fusions", fusions}};
}

Json memory_json(const PlanStudy& study) {
    const MemoryReport& m = study.memory;
    Json peak = Json::array();
    for (const MemoryReport::Live& live : m.at_peak)
        peak.push_back({{"name", live.name}, {"type", live.type}, {"bytes", live.bytes}});
    Json variants = Json::array();
    for (const MemoryRow& row : study.memory_rows)
        variants.push_back({{"precision", name_of(row.mode)},
                            {"recompute", name_of(row.recompute)},
                            {"kernels", name_of(row.software)},
                            {"activations_bytes", row.activations_bytes},
                            {"peak_bytes", row.peak_bytes},
                            {"largest_micro_batch", row.largest_micro_batch}});
    Json accumulate = Json::array();
    for (const AccumulateRow& row : study.accumulate_rows)
        accumulate.push_back({{"accumulate", row.accumulate},
                              {"micro_batch", row.micro_batch},
                              {"peak_bytes", row.peak_bytes}});
    return {{"weights_bytes", m.weights_bytes},
            {"narrow_bytes", m.narrow_bytes},
            {"gradients_bytes", m.gradients_bytes},
            {"optimizer_bytes", m.optimizer_bytes},
            {"statistics_bytes", m.statistics_bytes},
            {"activations_bytes", m.activations_bytes},
            {"workspace_bytes", m.workspace_bytes},
            {"peak_bytes", m.arena_bytes},
            {"limit_bytes", study.memory_limit_bytes},
            {"alive_at_peak", peak},
            {"variants", variants},
            {"accumulation", accumulate}};
}

Json cudnn_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const CudnnRow& row : study.cudnn.rows)
        rows.push_back({{"convolution", row.convolution},
                        {"count", row.count},
                        {"engine", row.engine},
                        {"workspace_bytes", row.workspace_bytes},
                        {"tensor_cores", row.tensor_cores}});
    return {{"version", study.cudnn.version}, {"reason", study.cudnn.reason}, {"convolutions", rows}};
}

Json advice_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const AdviceRow& row : study.advice)
        rows.push_back({{"grade", name_of(row.grade.grade)},
                        {"format", name_of(row.format)},
                        {"why", row.grade.why},
                        {"advice", row.grade.advice},
                        {"gain", row.grade.gain},
                        {"tile_use", row.grade.tile_use},
                        {"wave_use", row.grade.wave_use},
                        {"ms", row.ms},
                        {"products", row.nodes}});
    return {{"products", rows}, {"batch_rule", study.batch.sentence}, {"obeys_rule", study.batch.obeys}};
}

Json forecast_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const ForecastRow& row : study.forecasts) {
        Json entry = {{"precision", name_of(row.mode)}, {"kernels", name_of(row.software)}};
        if (!row.unavailable.empty()) {
            entry["unavailable"] = row.unavailable;
        } else {
            entry["micro_step_ms"] = row.micro_step_ms;
            entry["update_ms"] = row.update_ms;
            entry["per_second"] = row.per_second;
            entry["epoch_seconds"] = row.epoch_seconds;
            entry["tflops"] = row.tflops;
            entry["mfu"] = row.mfu;
            entry["roofline_share"] = row.roofline_share;
        }
        rows.push_back(std::move(entry));
    }
    return rows;
}

Json slowest_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const OpRow& row : study.slowest)
        rows.push_back({{"node", row.node},
                        {"op", row.op},
                        {"ms", row.ms},
                        {"bound", name_of(row.bound)},
                        {"gflop", row.gflops},
                        {"megabytes", row.megabytes},
                        {"format", row.format}});
    return rows;
}

Json scaling_json(const PlanStudy& study) {
    Json rows = Json::array();
    for (const Scaling& row : study.scaling)
        rows.push_back({{"gpus", row.num_gpus},
                        {"all_reduce_ms", row.all_reduce_ms},
                        {"exposed_ms", row.exposed_ms},
                        {"update_ms", row.step_ms},
                        {"efficiency", row.efficiency}});
    return rows;
}

}  // namespace

Json json_of(const std::vector<CalibrationRow>& rows) {
    Json list = Json::array();
    for (const CalibrationRow& row : rows)
        list.push_back({{"model", row.published.model},
                        {"gpu", row.published.gpu},
                        {"precision", row.published.precision},
                        {"kernels", name_of(row.published.software)},
                        {"forecast", row.forecast},
                        {"published", row.published.per_second},
                        {"unit", row.published.unit},
                        {"error", row.error()},
                        {"fitted", row.published.fitted},
                        {"source", row.published.source}});
    return {{"rows", list}, {"median_absolute_error", median_error(rows)}};
}

Json json_of(const PlanStudy& study) {
    return {{"name", study.config.name},
            {"network", study.network},
            {"device", study.device},
            {"parameters", study.num_parameters},
            {"batch", study.data.data.micro_batch.rows * study.config.train.accumulate},
            {"micro_batch", to_string(study.data.data.micro_batch)},
            {"precision", name_of(study.config.precision.mode)},
            {"forward_gmac", study.forward_gmac},
            {"train_gflop", study.train_gflop},
            {"notes", study.data.notes},
            {"unit", study.data.sample + "/s"},
            {"audit", audit_json(study)},
            {"casts", casts_json(study)},
            {"memory", memory_json(study)},
            {"cudnn", cudnn_json(study)},
            {"tensor_cores", advice_json(study)},
            {"forecast", forecast_json(study)},
            {"slowest", slowest_json(study)},
            {"traffic", traffic_json(study.fusion)},
            {"scaling", {{"link", study.link}, {"rows", scaling_json(study)}}},
            {"calibration", json_of(study.calibration)},
            {"planning_seconds", study.seconds}};
}

}  // namespace mpt::app

#include "metrics/rows.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace mpt {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json text(const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
}

// Bytes that are not UTF-8 (paths may hold any) become U+FFFD: the line stays valid.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const TrainRow& row) {
    Json json;
    json["kind"] = "train";
    json["step"] = row.step;
    json["epoch"] = row.epoch;
    json["loss"] = number(row.loss);
    json["top1"] = number(row.top1);
    json["lr"] = number(row.lr);
    json["loss_scale"] = number(row.loss_scale);
    json["good_steps"] = row.good_steps;
    json["attempted"] = row.attempted;
    json["applied"] = row.applied;
    json["skipped"] = row.skipped;
    json["grad_norm"] = number(row.grad_norm);
    json["images_per_sec"] = number(row.images_per_sec);
    json["data_wait_ms"] = number(row.data_wait_ms);
    json["elapsed"] = number(row.elapsed);
    return dump(json);
}

std::string to_json(const EvaluationRow& row) {
    Json json;
    json["kind"] = "eval";
    json["step"] = row.step;
    json["epoch"] = row.epoch;
    json["loss"] = number(row.loss);
    json["top1"] = number(row.top1);
    json["top5"] = number(row.top5);
    json["samples"] = row.samples;
    json["ema"] = row.ema;
    json["improved"] = row.improved;
    json["elapsed"] = number(row.elapsed);
    return dump(json);
}

std::string to_json(const SummaryRow& row) {
    Json json;
    json["kind"] = "summary";
    json["end"] = row.end;
    json["reason"] = text(row.reason);
    json["step"] = row.step;
    json["epoch"] = row.epoch;
    json["attempted"] = row.attempted;
    json["applied"] = row.applied;
    json["skipped"] = row.skipped;
    json["images_per_sec_median"] = number(row.images_per_sec_median);
    json["images_per_sec_mean"] = number(row.images_per_sec_mean);
    json["loss"] = row.evaluation ? number(row.evaluation->loss) : Json(nullptr);
    json["top1"] = row.evaluation ? number(row.evaluation->top1) : Json(nullptr);
    json["top5"] = row.evaluation ? number(row.evaluation->top5) : Json(nullptr);
    json["best_metric"] = text(row.best_metric);
    json["best"] = row.best ? number(*row.best) : Json(nullptr);
    json["best_step"] = row.best ? Json(row.best_step) : Json(nullptr);
    json["checkpoint"] = text(row.checkpoint);
    json["best_checkpoint"] = text(row.best_checkpoint);
    json["elapsed"] = number(row.elapsed);
    return dump(json);
}

}  // namespace mpt

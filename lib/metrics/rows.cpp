#include "metrics/rows.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "metrics/console.h"

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

Json optional_number(const std::optional<double>& value) {
    return value ? number(*value) : Json(nullptr);
}

// The scores of an evaluation, null where there was none.
void add_scores(Json& json, Unit unit, const std::optional<EvaluationRow>& row) {
    json["loss"] = row ? number(row->loss) : Json(nullptr);
    if (unit == Unit::kImages) {
        json["top1"] = row ? number(row->top1) : Json(nullptr);
        json["top5"] = row ? number(row->top5) : Json(nullptr);
        return;
    }
    json["perplexity"] = row ? number(perplexity_of(row->loss)) : Json(nullptr);
    json["bits_per_character"] = row ? optional_number(row->bits_per_character) : Json(nullptr);
    json["bits_per_byte"] = row ? optional_number(row->bits_per_byte) : Json(nullptr);
    if (row && row->bleu) json["bleu"] = number(*row->bleu);
}

}  // namespace

std::string_view name_of(Unit unit) {
    return unit == Unit::kImages ? "images" : "tokens";
}

double perplexity_of(double loss) {
    return std::isnan(loss) ? std::numeric_limits<double>::quiet_NaN() : std::exp(loss);  // never -nan
}

std::string print(const EvaluationRow& row) {
    std::string text = "loss " + print_loss(row.loss);
    if (row.unit == Unit::kImages)
        text += fmt::format("  top1 {:.2f} %  top5 {:.2f} %", 100 * row.top1, 100 * row.top5);
    else
        text += fmt::format("  perplexity {:.4g}", perplexity_of(row.loss));
    if (row.bits_per_character) text += fmt::format("  {:.4f} bits/character", *row.bits_per_character);
    if (row.bits_per_byte && row.bits_per_byte != row.bits_per_character)
        text += fmt::format("  {:.4f} bits/byte", *row.bits_per_byte);
    if (row.bleu) text += fmt::format("  BLEU {:.2f}", *row.bleu);
    return text + fmt::format("  of {} {}", row.samples, name_of(row.unit));
}

std::string to_json(const TrainRow& row) {
    Json json;
    json["kind"] = "train";
    json["step"] = row.step;
    json["epoch"] = row.epoch;
    json["loss"] = number(row.loss);
    if (row.unit == Unit::kImages) json["top1"] = number(row.top1);
    if (row.unit == Unit::kTokens) {
        json["perplexity"] = number(perplexity_of(row.loss));
        json["bits_per_character"] = optional_number(row.bits_per_character);
    }
    json["lr"] = number(row.lr);
    json["loss_scale"] = number(row.loss_scale);
    json["good_steps"] = row.good_steps;
    json["attempted"] = row.attempted;
    json["applied"] = row.applied;
    json["skipped"] = row.skipped;
    json["grad_norm"] = number(row.grad_norm);
    json[std::string(name_of(row.unit)) + "_per_sec"] = number(row.per_sec);
    json["data_wait_ms"] = number(row.data_wait_ms);
    json["elapsed"] = number(row.elapsed);
    return dump(json);
}

std::string to_json(const EvaluationRow& row) {
    Json json;
    json["kind"] = "eval";
    json["step"] = row.step;
    json["epoch"] = row.epoch;
    add_scores(json, row.unit, row);
    json[row.unit == Unit::kImages ? "samples" : "tokens"] = row.samples;
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
    const std::string unit(name_of(row.unit));
    json[unit + "_per_sec_median"] = number(row.per_sec_median);
    json[unit + "_per_sec_mean"] = number(row.per_sec_mean);
    add_scores(json, row.unit, row.evaluation);
    json["best_metric"] = text(row.best_metric);
    json["best"] = row.best ? number(*row.best) : Json(nullptr);
    json["best_step"] = row.best ? Json(row.best_step) : Json(nullptr);
    json["checkpoint"] = text(row.checkpoint);
    json["best_checkpoint"] = text(row.best_checkpoint);
    json["elapsed"] = number(row.elapsed);
    return dump(json);
}

}  // namespace mpt

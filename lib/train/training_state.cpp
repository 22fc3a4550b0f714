// TrainingState as JSON and back, field by field. Doubles come back to the bit: finite ones as shortest
// round-trip decimals, the others as words.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "train/checkpoint.h"

namespace mpt {
namespace {

using Json = nlohmann::ordered_json;

Json real(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

double real(const Json& json) {
    if (json.is_number()) return json.get<double>();
    const auto word = json.get<std::string>();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    throw std::invalid_argument("'" + word + "' is no number");
}

Json optional_real(const std::optional<double>& value) {
    return value ? real(*value) : Json(nullptr);
}

std::optional<double> optional_real(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional<double>(real(json));
}

// One list of the fields for both directions.
template <typename Control, typename Visit>
void visit_fields(Control& c, Visit visit) {
    visit("attempted", c.attempted);
    visit("applied", c.applied);
    visit("skipped", c.skipped);
    visit("growth_counter", c.growth_counter);
    visit("consecutive_nonfinite", c.consecutive_nonfinite);
    visit("gradient_norm", c.gradient_norm);
    visit("learning_rate", c.learning_rate);
    visit("loss_scale", c.loss_scale);
    visit("used_loss_scale", c.used_loss_scale);
    visit("clip_factor", c.clip_factor);
    visit("gradient_factor", c.gradient_factor);
    visit("hysteresis_left", c.hysteresis_left);
    visit("skips_at_floor", c.skips_at_floor);
    visit("found_nonfinite", c.found_nonfinite);
    visit("skip", c.skip);
    visit("stop", c.stop);
}
static_assert(sizeof(StepControl) == 96, "a new field of StepControl belongs into visit_fields");

Json control_json(const StepControl& control) {
    Json json;
    visit_fields(control, [&](const char* name, const auto& field) {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_floating_point_v<Field>)
            json[name] = real(static_cast<double>(field));
        else
            json[name] = static_cast<std::int64_t>(field);
    });
    return json;
}

StepControl control_from(const Json& json) {
    StepControl control;
    visit_fields(control, [&](const char* name, auto& field) {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_floating_point_v<Field>)
            field = static_cast<Field>(real(json.at(name)));
        else
            field = static_cast<Field>(json.at(name).template get<std::int64_t>());
    });
    return control;
}

Json meter_json(const MeanMeter& meter) {
    return {{"sum", real(meter.sum)}, {"count", meter.count}};
}

MeanMeter meter_from(const Json& json) {
    return {real(json.at("sum")), json.at("count").get<std::int64_t>()};
}

Json evaluation_json(const std::optional<EvaluationRow>& row) {
    if (!row) return nullptr;
    return {{"unit", name_of(row->unit)},
            {"step", row->step},
            {"epoch", row->epoch},
            {"loss", real(row->loss)},
            {"top1", real(row->top1)},
            {"top5", real(row->top5)},
            {"bits_per_character", optional_real(row->bits_per_character)},
            {"bits_per_byte", optional_real(row->bits_per_byte)},
            {"bleu", optional_real(row->bleu)},
            {"samples", row->samples},
            {"ema", row->ema},
            {"improved", row->improved},
            {"elapsed", real(row->elapsed)}};
}

std::optional<EvaluationRow> evaluation_from(const Json& json) {
    if (json.is_null()) return std::nullopt;
    EvaluationRow row;
    row.unit = json.at("unit").get<std::string>() == "tokens" ? Unit::kTokens : Unit::kImages;
    row.step = json.at("step").get<std::int64_t>();
    row.epoch = json.at("epoch").get<std::int64_t>();
    row.loss = real(json.at("loss"));
    row.top1 = real(json.at("top1"));
    row.top5 = real(json.at("top5"));
    row.bits_per_character = optional_real(json.at("bits_per_character"));
    row.bits_per_byte = optional_real(json.at("bits_per_byte"));
    row.bleu = optional_real(json.at("bleu"));
    row.samples = json.at("samples").get<std::int64_t>();
    row.ema = json.at("ema").get<bool>();
    row.improved = json.at("improved").get<bool>();
    row.elapsed = real(json.at("elapsed"));
    return row;
}

std::string hex(std::uint64_t value) {
    return value == 0 ? "" : fmt::format("{:016x}", value);
}

// Checkpoints of older versions have neither fingerprints nor constants.
void data_from(const Json& json, TrainingState& state) {
    state.data.training.num_samples = json.at("num_samples").get<std::int64_t>();
    const Json data = json.value("data", Json::object());
    const auto fingerprint = [&](const char* name) {
        const std::string text = data.value(name, "");
        return text.empty() ? 0 : std::stoull(text, nullptr, 16);
    };
    state.data.training.fingerprint = fingerprint("training_fingerprint");
    state.data.validation = {data.value("num_validation", std::int64_t{0}),
                             fingerprint("validation_fingerprint")};
    state.class_names = json.at("class_names").get<std::vector<std::string>>();
    const Json normalization = json.value("normalization", Json::object());
    state.normalization.mean = normalization.value("mean", std::vector<float>());
    state.normalization.stddev = normalization.value("std", std::vector<float>());
    if (state.normalization.mean.size() != state.normalization.stddev.size())
        throw std::invalid_argument("normalization: as many means as deviations are needed");
}

TrainingState state_from(const Json& json) {
    TrainingState state;
    state.seed = json.at("seed").get<std::uint64_t>();
    state.position.epoch = json.at("epoch").get<std::int64_t>();
    state.position.offset = json.at("offset").get<std::int64_t>();
    data_from(json, state);
    state.control = control_from(json.at("control"));
    state.micro_steps = json.at("micro_steps").get<std::int64_t>();
    state.nonfinite_losses = json.at("nonfinite_losses").get<std::int64_t>();
    state.last_finite_loss = optional_real(json.at("last_finite_loss"));
    state.loss = meter_from(json.at("interval_loss"));
    state.top1 = meter_from(json.at("interval_top1"));
    const Json& best = json.at("best");
    state.best = {optional_real(best.at("value")), best.at("step").get<std::int64_t>(),
                  best.at("rounds_since").get<std::int64_t>(),
                  best.contains("loss") ? optional_real(best.at("loss")) : std::nullopt};
    state.evaluation_due = json.at("evaluation_due").get<bool>();
    state.evaluation = evaluation_from(json.at("evaluation"));
    state.elapsed = real(json.at("elapsed"));
    return state;
}

}  // namespace

std::string to_json(const TrainingState& state) {
    Json json;
    json["seed"] = state.seed;
    json["epoch"] = state.position.epoch;
    json["offset"] = state.position.offset;
    json["num_samples"] = state.data.training.num_samples;
    json["data"] = {{"training_fingerprint", hex(state.data.training.fingerprint)},
                    {"num_validation", state.data.validation.num_samples},
                    {"validation_fingerprint", hex(state.data.validation.fingerprint)}};
    json["control"] = control_json(state.control);
    json["micro_steps"] = state.micro_steps;
    json["nonfinite_losses"] = state.nonfinite_losses;
    json["last_finite_loss"] = optional_real(state.last_finite_loss);
    json["interval_loss"] = meter_json(state.loss);
    json["interval_top1"] = meter_json(state.top1);
    json["best"] = {{"value", optional_real(state.best.value)},
                    {"step", state.best.step},
                    {"rounds_since", state.best.rounds_since},
                    {"loss", optional_real(state.best.loss)}};
    json["evaluation_due"] = state.evaluation_due;
    json["evaluation"] = evaluation_json(state.evaluation);
    json["elapsed"] = real(state.elapsed);
    json["class_names"] = state.class_names;
    json["normalization"] = {{"mean", state.normalization.mean}, {"std", state.normalization.stddev}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

TrainingState training_state_from_json(const std::string& text, const std::string& origin) {
    try {
        return state_from(Json::parse(text));
    } catch (const std::exception& error) {
        throw Error(ExitCode::kCheckpoint, origin + ": not a training state: " + error.what());
    }
}

}  // namespace mpt

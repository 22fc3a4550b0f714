#include "config/rules.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "config/idle_keys.h"
#include "config/key_kinds.h"
#include "config/read.h"

namespace mpt {
namespace {

struct Checked {
    const GivenKeys& given;
    Faults& faults;
    RunConfig& config;

    bool has(std::string_view path) const { return given.places.find(path) != given.places.end(); }
    bool sound(std::initializer_list<std::string_view> paths) const {
        return std::none_of(paths.begin(), paths.end(), [&](std::string_view path) {
            return given.refused.find(path) != given.refused.end();
        });
    }
    // Where the first of `paths` that was given stands.
    Place place_of(std::initializer_list<std::string_view> paths) const {
        for (const std::string_view path : paths)
            if (const auto found = given.places.find(path); found != given.places.end()) return found->second;
        return {};
    }
};

void check_length(const Checked& at) {
    TrainConfig& train = at.config.train;
    const Place epochs = at.place_of({"train.epochs"});
    const Place steps = at.place_of({"train.steps"});
    // --set of one replaces the file's other: a short try needs one option.
    if (at.has("train.epochs") && at.has("train.steps")) {
        if (epochs.source > 0 && steps.source == 0) {
            train.steps.reset();
        } else if (steps.source > 0 && epochs.source == 0) {
            train.epochs.reset();
        } else {
            at.faults.add(steps, "train.steps", "train.epochs is given, too; keep one of the two");
        }
    }
    if (!train.epochs && !train.steps) train.epochs = 1;
}

void check_batch(const Checked& at) {
    const TrainConfig& train = at.config.train;
    if (at.config.model.type == ModelType::kTransformer) return;  // batch_tokens is a limit, not a count
    if (train.batch_size % train.accumulate == 0) return;
    if (!at.sound({"train.batch_size", "train.accumulate"})) return;
    const Place place = at.place_of({"train.accumulate", "train.batch_size"});
    const std::string size = std::to_string(train.batch_size);
    if (train.accumulate > train.batch_size) {
        at.faults.add(place, "train.accumulate",
                      std::to_string(train.accumulate) + " is more than train.batch_size " + size +
                          "; a micro-step needs at least one sample");
        return;
    }
    std::int64_t below = train.accumulate;
    while (train.batch_size % below != 0) --below;
    std::int64_t above = train.accumulate;
    while (train.batch_size % above != 0) ++above;
    at.faults.add(place, "train.accumulate",
                  std::to_string(train.accumulate) + " does not divide train.batch_size " + size +
                      "; the nearest that do are " + std::to_string(below) + " and " + std::to_string(above));
}

// The preset after kAuto has been resolved by the mode.
LossScalePreset effective_preset(const PrecisionConfig& precision) {
    if (precision.loss_scale.preset != LossScalePreset::kAuto) return precision.loss_scale.preset;
    if (precision.mode == PrecisionMode::kAmpFp16) return LossScalePreset::kDefault;
    if (precision.mode == PrecisionMode::kFp16Pure) return LossScalePreset::kStatic;
    return LossScalePreset::kOff;
}

void warn_of_idle_loss_scale(const Checked& at) {
    const LossScalePreset preset = effective_preset(at.config.precision);
    if (preset != LossScalePreset::kOff && preset != LossScalePreset::kStatic) return;
    const std::string section = "precision.loss_scale.";
    for (const Key& key : all_keys()) {
        if (!key.path.starts_with(section) || key.path == section + "preset") continue;
        if (preset == LossScalePreset::kStatic && key.path == section + "init") continue;
        if (!at.has(key.path) || key.print(at.config) == key.print(RunConfig{})) continue;
        at.faults.warn(at.place_of({key.path}), key.path,
                       "has no effect: with precision.mode " +
                           std::string(name_of(at.config.precision.mode)) + " and preset " +
                           std::string(name_of(at.config.precision.loss_scale.preset)) +
                           " the loss scale is " + std::string(name_of(preset)));
    }
}

void check_precision(const Checked& at) {
    const PrecisionConfig& precision = at.config.precision;
    const LossScaleConfig& scale = precision.loss_scale;
    if (precision.mode == PrecisionMode::kFp8 && !at.config.model.is_text())
        at.faults.add(at.place_of({"precision.mode"}), "precision.mode",
                      "fp8 covers the matrix products of Transformers only and model.type " +
                          std::string(name_of(at.config.model.type)) + " has none; use amp_bf16 or amp_fp16");
    const bool needs_init =
        scale.preset == LossScalePreset::kStatic || scale.preset == LossScalePreset::kNvidiaRn50;
    if (needs_init && !scale.init && at.sound({"precision.loss_scale.init"}))
        at.faults.add(at.place_of({"precision.loss_scale.preset"}), "precision.loss_scale.init",
                      "missing; preset " + std::string(name_of(scale.preset)) + " needs it, e.g. init: 128");
    const double init = scale.init.value_or(0);
    if (scale.init && scale.floor && *scale.floor > init)
        at.faults.add(
            at.place_of({"precision.loss_scale.floor"}), "precision.loss_scale.floor",
            print_real(*scale.floor) + " is above init " + print_real(init) + "; lower it, or raise init");
    if (scale.init && scale.ceiling && *scale.ceiling > 0 && *scale.ceiling < init)
        at.faults.add(
            at.place_of({"precision.loss_scale.ceiling"}), "precision.loss_scale.ceiling",
            print_real(*scale.ceiling) + " is below init " + print_real(init) + "; raise it, or lower init");
    warn_of_idle_loss_scale(at);
}

constexpr std::int64_t kResnetDepths[] = {18, 34, 50, 101, 152, 20, 32, 44, 56, 110};

void check_model(const Checked& at) {
    ModelConfig& model = at.config.model;
    if (!at.has("model.depth") && model.type == ModelType::kGpt) model.depth = 12;
    if (!at.has("model.depth") && model.type == ModelType::kTransformer) model.depth = 6;
    if (model.type == ModelType::kResnet) {
        if (std::ranges::count(kResnetDepths, model.depth) == 0 && at.sound({"model.depth", "model.type"}))
            at.faults.add(at.place_of({"model.depth"}), "model.depth",
                          std::to_string(model.depth) +
                              " is not a depth of a ResNet here; it is one of 18, 34, 50, 101, 152 (ImageNet "
                              "stem), 20, 32, 44, 56, 110 (CIFAR type)");
        return;
    }
    if (model.width % model.heads != 0 && at.sound({"model.width", "model.heads"}))
        at.faults.add(at.place_of({"model.heads", "model.width"}), "model.heads",
                      std::to_string(model.heads) + " does not divide model.width " +
                          std::to_string(model.width) + "; each head has width / heads elements");
    const bool rotary = model.type == ModelType::kGpt && model.positions == PositionType::kRotary;
    if (rotary && model.width % model.heads == 0 && model.width / model.heads % 2 != 0)
        at.faults.add(at.place_of({"model.positions"}), "model.positions",
                      "rotary needs an even number of elements in each head, there are " +
                          std::to_string(model.width / model.heads));
    if (model.activation == ActivationType::kSwiglu && model.type == ModelType::kTransformer)
        at.faults.add(at.place_of({"model.activation"}), "model.activation",
                      "swiglu is for model.type gpt; use relu, gelu or gelu_tanh");
    if (at.config.data.sequence_length && *at.config.data.sequence_length > model.context)
        at.faults.add(at.place_of({"data.sequence_length"}), "data.sequence_length",
                      std::to_string(*at.config.data.sequence_length) + " is more than model.context " +
                          std::to_string(model.context) + "; lower it, or raise model.context");
}

// Which metric can pick the best, and the usual one.
void check_best(const Checked& at) {
    const ModelType type = at.config.model.type;
    BestMetric& best = at.config.checkpoint.best;
    const bool translates = type == ModelType::kTransformer && at.config.translation.bleu;
    if (!at.has("checkpoint.best")) {
        if (type != ModelType::kResnet) best = translates ? BestMetric::kBleu : BestMetric::kLoss;
        return;
    }
    const bool of_images = best == BestMetric::kTop1 || best == BestMetric::kTop5;
    if (of_images && type != ModelType::kResnet)
        at.faults.add(at.place_of({"checkpoint.best"}), "checkpoint.best",
                      std::string(name_of(best)) + " is for images; use loss" +
                          (translates ? " or bleu" : "") + " or none");
    const int bleu_source = at.place_of({"translation.bleu"}).source;
    // Switched off by --set: the file's choice cannot be meant any more.
    if (best == BestMetric::kBleu && type == ModelType::kTransformer && !translates &&
        bleu_source > at.place_of({"checkpoint.best"}).source) {
        best = BestMetric::kLoss;
        at.faults.warn(at.place_of({"translation.bleu"}), "translation.bleu",
                       "off, and so checkpoint.best is loss instead of bleu");
        return;
    }
    if (best == BestMetric::kBleu && !translates)
        at.faults.add(at.place_of({"checkpoint.best"}), "checkpoint.best",
                      "bleu needs model.type transformer with translation.bleu: true; use loss or none");
}

bool is_image_data(DataType type) {
    return type == DataType::kIdx || type == DataType::kCifar10 || type == DataType::kImageFolder ||
           type == DataType::kShards;
}

// The kind of data must be one that the model reads.
void check_data_kind(const Checked& at) {
    const DataType type = at.config.data.type;
    const ModelType model = at.config.model.type;
    if (type == DataType::kSynthetic || !at.sound({"data.type", "model.type"})) return;
    const bool fits = model == ModelType::kResnet ? is_image_data(type)
                      : model == ModelType::kGpt  ? type == DataType::kText || type == DataType::kTokens
                                                  : type == DataType::kParallel;
    if (fits) return;
    at.faults.add(at.place_of({"data.type", "model.type"}), "data.type",
                  std::string(name_of(type)) + " is not for model.type " + std::string(name_of(model)) +
                      "; use " +
                      (model == ModelType::kResnet ? "idx, cifar10, imagefolder or shards"
                       : model == ModelType::kGpt  ? "text or tokens"
                                                   : "parallel") +
                      ", or synthetic");
}

// Sentence pairs come in two files or in one.
void check_pairs(const Checked& at) {
    const DataConfig& data = at.config.data;
    const auto both = [&](const std::string& source, const std::string& target, const char* prefix) {
        if (source.empty() == target.empty()) return;
        const std::string key =
            std::string("data.") + prefix + (source.empty() ? "source_path" : "target_path");
        at.faults.add(at.place_of({"data.type"}), key, "missing; the two files of pairs go together");
    };
    both(data.source_path, data.target_path, "");
    both(data.validation_source_path, data.validation_target_path, "validation_");
    if (!data.path.empty() && !data.source_path.empty())
        at.faults.add(at.place_of({"data.source_path"}), "data.source_path",
                      "data.path is given, too; keep one of the two");
    if (data.path.empty() && data.source_path.empty() && data.if_missing == IfMissing::kError)
        at.faults.add(at.place_of({"data.type"}), "data.path",
                      "missing; data.type parallel needs a file with tabs, or data.source_path and "
                      "data.target_path (or data.if_missing: synthetic)");
}

// Learning takes minutes: what it leads to is refused before.
void check_learned_vocabulary(const Checked& at) {
    const DataConfig& data = at.config.data;
    const std::optional<std::int64_t>& wanted = at.config.model.vocabulary_size;
    const bool of_text = data.type == DataType::kText || data.type == DataType::kParallel;
    const bool named = !data.path.empty() || !data.source_path.empty();
    if (!of_text || !named || learns_no_pieces(at.config) || !wanted) return;
    if (*wanted >= data.sentencepiece_size) return;
    at.faults.add(at.place_of({"model.vocabulary_size"}), "model.vocabulary_size",
                  std::to_string(*wanted) + " is less than the " + std::to_string(data.sentencepiece_size) +
                      " tokens of data.sentencepiece_size; leave it out, raise it, or lower that");
}

void check_data(const Checked& at) {
    const DataConfig& data = at.config.data;
    check_data_kind(at);
    const bool sound =
        at.sound({"data.type", "data.path", "data.if_missing", "data.source_path", "data.target_path"});
    if (sound && data.type == DataType::kParallel) check_pairs(at);
    const bool one_path = data.type != DataType::kSynthetic && data.type != DataType::kParallel;
    if (sound && one_path && data.path.empty() && data.if_missing == IfMissing::kError)
        at.faults.add(at.place_of({"data.type"}), "data.path",
                      "missing; data.type " + std::string(name_of(data.type)) + " needs " +
                          (is_image_data(data.type) ? "the folder of its files" : "its file") +
                          " (or data.if_missing: synthetic)");
    if (data.image_size && data.resize && *data.resize < *data.image_size)
        at.faults.add(at.place_of({"data.resize", "data.image_size"}), "data.resize",
                      std::to_string(*data.resize) + " is below data.image_size " +
                          std::to_string(*data.image_size) + "; raise it, or leave it out");
    if (data.image_size && data.augment.crop_padding >= *data.image_size)
        at.faults.add(at.place_of({"data.augment.crop_padding"}), "data.augment.crop_padding",
                      std::to_string(data.augment.crop_padding) + " is not below data.image_size " +
                          std::to_string(*data.image_size) + "; lower it");
}

void check_optimizer(const Checked& at) {
    OptimizerConfig& optimizer = at.config.optimizer;
    const bool momentum_kind =
        optimizer.type == OptimizerType::kSgd || optimizer.type == OptimizerType::kLars;
    if (!at.has("optimizer.lr")) optimizer.lr = momentum_kind ? 0.1 : 0.001;
    if (optimizer.type == OptimizerType::kSgd && optimizer.nesterov && optimizer.momentum == 0)
        at.faults.add(at.place_of({"optimizer.nesterov"}), "optimizer.nesterov",
                      "needs optimizer.momentum above 0; raise it, or write nesterov: false");
}

constexpr std::size_t kMostMilestones = 32;  // of ScheduleSpec

void check_milestones(const Checked& at) {
    const std::vector<Duration>& milestones = at.config.schedule.milestones;
    const Place place = at.place_of({"schedule.milestones", "schedule.type"});
    if (!at.sound({"schedule.milestones"})) return;
    if (milestones.empty())
        at.faults.add(place, "schedule.milestones",
                      "missing; schedule.type step needs them, e.g. [30 epochs, 60 epochs]");
    if (milestones.size() > kMostMilestones)
        at.faults.add(place, "schedule.milestones",
                      std::to_string(milestones.size()) + " are too many; at most 32 are possible");
    for (std::size_t i = 1; i < milestones.size(); ++i) {
        const Duration& before = milestones[i - 1];
        const Duration& now = milestones[i];
        if (before.unit != now.unit)
            at.faults.add(place, "schedule.milestones",
                          print_value(before) + " and " + print_value(now) + " are of two units; use one");
        else if (before.amount >= now.amount)
            at.faults.add(place, "schedule.milestones",
                          print_value(now) + " does not come after " + print_value(before) +
                              "; list them in rising order");
        else
            continue;
        return;
    }
}

// Updates or epochs of the run in the unit of the warm-up; unset if only the data can tell.
std::optional<double> run_length(const RunConfig& config, std::optional<std::int64_t> updates_per_epoch) {
    const bool epochs = config.schedule.warmup.unit == DurationUnit::kEpochs;
    if (epochs && config.train.epochs) return static_cast<double>(*config.train.epochs);
    if (!epochs && config.train.steps) return static_cast<double>(*config.train.steps);
    if (!updates_per_epoch) return std::nullopt;
    const auto per_epoch = static_cast<double>(*updates_per_epoch);
    if (epochs) return static_cast<double>(config.train.steps.value_or(0)) / per_epoch;
    return static_cast<double>(config.train.epochs.value_or(0)) * per_epoch;
}

std::string long_warmup(const RunConfig& config, double length) {
    const Duration& warmup = config.schedule.warmup;
    return print_value(warmup) + " of warm-up in a run of " + print_value(Duration{length, warmup.unit}) +
           "; the learning rate never reaches " + print_real(config.optimizer.lr);
}

void check_schedule(const Checked& at) {
    const ScheduleConfig& schedule = at.config.schedule;
    if (schedule.type == ScheduleType::kStep) check_milestones(at);
    const bool decays =
        schedule.type != ScheduleType::kConstant && at.sound({"optimizer.lr", "optimizer.type"});
    if (decays && schedule.min_lr > at.config.optimizer.lr)
        at.faults.add(at.place_of({"schedule.min_lr", "optimizer.lr"}), "schedule.min_lr",
                      print_real(schedule.min_lr) + " is above optimizer.lr " +
                          print_real(at.config.optimizer.lr) + "; lower it");
    if (at.config.train.early_stop > 0 && at.config.train.eval_every.amount == 0)
        at.faults.add(at.place_of({"train.early_stop", "train.eval_every"}), "train.early_stop",
                      "needs evaluations, and train.eval_every is never; give an interval");
    const std::optional<double> length = run_length(at.config, std::nullopt);
    if (length && at.sound({"train.epochs", "train.steps"}) && schedule.warmup.amount > *length)
        at.faults.warn(at.place_of({"schedule.warmup"}), "schedule.warmup", long_warmup(at.config, *length));
}

}  // namespace

void check_together(const GivenKeys& given, Faults& faults, RunConfig& config) {
    const Checked at{given, faults, config};
    check_length(at);
    check_model(at);
    check_best(at);
    check_batch(at);
    check_precision(at);
    check_data(at);
    if (at.sound({"model.vocabulary_size", "data.sentencepiece_size", "data.tokenizer"}))
        check_learned_vocabulary(at);
    check_optimizer(at);
    check_schedule(at);
    warn_of_idle_keys(given, faults, config);
}

std::vector<std::string> warnings_for(const RunConfig& config, std::int64_t updates_per_epoch) {
    if (run_length(config, std::nullopt)) return {};  // read_config has said it
    const double length = *run_length(config, updates_per_epoch);
    if (config.schedule.warmup.amount <= length) return {};
    return {"schedule.warmup: " + long_warmup(config, length)};
}

}  // namespace mpt

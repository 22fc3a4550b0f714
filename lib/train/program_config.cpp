#include "train/program_config.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mpt {

DType narrow_type(PrecisionMode mode) {
    switch (mode) {
        case PrecisionMode::kAmpFp16:
        case PrecisionMode::kFp16Pure:
            return DType::f16;
        case PrecisionMode::kAmpBf16:
        case PrecisionMode::kFp8:  // what is not multiplied in fp8
            return DType::bf16;
        default:
            return DType::f32;
    }
}

PrecisionPolicy precision_policy(const PrecisionConfig& config) {
    PrecisionPolicy policy;
    policy.narrow = narrow_type(config.mode);
    for (const PrecisionOverride& override : config.overrides)
        policy.overrides.push_back({override.match, override.dtype});
    if (config.mode == PrecisionMode::kFp8)
        policy.fp8 = {config.fp8.history, static_cast<int>(config.fp8.margin)};
    return policy;
}

ResnetConfig resnet_config(const ModelConfig& config, std::int64_t num_classes, NormMode mode) {
    return {config.depth,         num_classes,         config.zero_init_residual,
            config.norm_momentum, config.norm_epsilon, mode};
}

namespace {

Activation activation_of(const ModelConfig& model, ActivationType usual) {
    switch (model.activation.value_or(usual)) {
        case ActivationType::kRelu:
            return Activation::kRelu;
        case ActivationType::kGelu:
            return Activation::kGelu;
        case ActivationType::kGeluTanh:
            return Activation::kGeluTanh;
        case ActivationType::kSwiglu:
            break;
    }
    return Activation::kSwiglu;
}

}  // namespace

GptConfig gpt_config(const RunConfig& config, std::int64_t vocabulary) {
    const ModelConfig& model = config.model;
    GptConfig gpt;
    gpt.depth = model.depth;
    gpt.width = model.width;
    gpt.heads = model.heads;
    gpt.vocabulary = vocabulary;
    gpt.context = model.context;
    gpt.ffn_width = model.ffn_width.value_or(0);
    gpt.positions = model.positions == PositionType::kRotary ? Positions::kRotary : Positions::kLearned;
    gpt.norm = model.norm == NormType::kRmsNorm ? NormKind::kRmsNorm : NormKind::kLayerNorm;
    gpt.norm_epsilon = model.norm_epsilon;
    gpt.activation = activation_of(model, ActivationType::kGeluTanh);
    gpt.bias = model.bias;
    gpt.tied_embeddings = model.tied_embeddings;
    gpt.dropout = model.dropout;
    gpt.seed = config.seed;
    return gpt;
}

TransformerConfig transformer_config(const RunConfig& config, std::int64_t vocabulary) {
    const ModelConfig& model = config.model;
    TransformerConfig transformer;
    transformer.encoder_depth = model.depth;
    transformer.decoder_depth = model.decoder_depth.value_or(model.depth);
    transformer.width = model.width;
    transformer.heads = model.heads;
    transformer.ffn_width = model.ffn_width.value_or(0);
    transformer.source_vocabulary = transformer.target_vocabulary = vocabulary;
    transformer.tied_output = model.tied_embeddings;
    transformer.pre_norm = model.norm_order == NormOrder::kPre;
    transformer.activation = activation_of(model, ActivationType::kRelu);
    transformer.norm_epsilon = model.norm_epsilon;
    transformer.dropout = model.dropout;
    transformer.attention_dropout = model.attention_dropout;
    transformer.activation_dropout = model.activation_dropout;
    transformer.seed = config.seed;
    return transformer;
}

namespace {

LossScaleSpec preset_of(LossScalePreset preset, double init, PrecisionMode mode) {
    switch (preset) {
        case LossScalePreset::kOff:
            return loss_scale::preset_off();
        case LossScalePreset::kDefault:
            return loss_scale::preset_default();
        case LossScalePreset::kPytorch:
            return loss_scale::preset_pytorch();
        case LossScalePreset::kKeras:
            return loss_scale::preset_keras();
        case LossScalePreset::kDeepspeed:
            return loss_scale::preset_deepspeed();
        case LossScalePreset::kMegatron:
            return loss_scale::preset_megatron();
        case LossScalePreset::kNvidiaRn50:
            return loss_scale::preset_nvidia_rn50(init);
        case LossScalePreset::kStatic:
            return loss_scale::preset_static(init);
        case LossScalePreset::kAuto:
            break;
    }
    if (mode == PrecisionMode::kAmpFp16) return loss_scale::preset_default();
    return mode == PrecisionMode::kFp16Pure ? loss_scale::preset_static(init) : loss_scale::preset_off();
}

LossScaleSpec loss_scale_spec(const PrecisionConfig& precision) {
    const LossScaleConfig& given = precision.loss_scale;
    LossScaleSpec spec = preset_of(given.preset, given.init.value_or(1024), precision.mode);
    // Where nothing is scaled, the rule's fields have nothing to say.
    const bool scaled =
        precision.mode == PrecisionMode::kAmpFp16 || precision.mode == PrecisionMode::kFp16Pure;
    if (given.preset == LossScalePreset::kOff || (given.preset == LossScalePreset::kAuto && !scaled))
        return spec;
    if (given.init) spec.init = *given.init;
    if (given.growth_factor) spec.growth_factor = *given.growth_factor;
    if (given.growth_interval) spec.growth_interval = *given.growth_interval;
    if (given.backoff) spec.backoff = *given.backoff;
    if (given.hysteresis) spec.hysteresis = static_cast<std::int32_t>(*given.hysteresis);
    if (given.hysteresis_refill)
        spec.refill = *given.hysteresis_refill == HysteresisRefill::kGrowth
                          ? LossScaleSpec::Refill::kGrowth
                          : LossScaleSpec::Refill::kConsecutive;
    if (given.floor) spec.floor = *given.floor;
    if (given.ceiling) spec.ceiling = *given.ceiling;
    if (given.max_skips_at_floor)
        spec.max_skips_at_floor = static_cast<std::int32_t>(*given.max_skips_at_floor);
    if (given.at_floor)
        spec.at_floor = *given.at_floor == AtFloor::kStop   ? LossScaleSpec::AtFloor::kStop
                        : *given.at_floor == AtFloor::kSkip ? LossScaleSpec::AtFloor::kSkip
                                                            : LossScaleSpec::AtFloor::kClamp;
    return spec;
}

ScheduleSpec::Type schedule_type(ScheduleType type) {
    switch (type) {
        case ScheduleType::kConstant:
            return ScheduleSpec::Type::kConstant;
        case ScheduleType::kStep:
            return ScheduleSpec::Type::kStep;
        case ScheduleType::kCosine:
            return ScheduleSpec::Type::kCosine;
        case ScheduleType::kPoly:
            return ScheduleSpec::Type::kPoly;
        case ScheduleType::kLinear:
            return ScheduleSpec::Type::kLinear;
        case ScheduleType::kInverseSqrt:
            return ScheduleSpec::Type::kInverseSqrt;
    }
    return ScheduleSpec::Type::kConstant;
}

ScheduleSpec schedule_spec(const RunConfig& config, std::int64_t updates_per_epoch,
                           std::int64_t total_updates) {
    const ScheduleConfig& given = config.schedule;
    ScheduleSpec spec;
    spec.type = schedule_type(given.type);
    spec.base = config.optimizer.lr;
    spec.min = given.min_lr;
    spec.warmup = updates_in(given.warmup, updates_per_epoch);
    spec.length = given.length ? updates_in(*given.length, updates_per_epoch) : total_updates;
    spec.gamma = given.gamma;
    spec.power = given.power;
    if (given.milestones.size() > static_cast<std::size_t>(ScheduleSpec::kMaxMilestones))
        throw Error(ExitCode::kUsage, "schedule.milestones: at most " +
                                          std::to_string(ScheduleSpec::kMaxMilestones) + " are possible");
    for (const Duration& milestone : given.milestones)
        spec.milestones[spec.num_milestones++] = updates_in(milestone, updates_per_epoch);
    return spec;
}

}  // namespace

UpdateConfig update_config(const RunConfig& config, std::int64_t updates_per_epoch,
                           std::int64_t total_updates, const SegmentTable& segments) {
    const OptimizerConfig& o = config.optimizer;
    UpdateConfig update;
    update.rule.loss_scale = loss_scale_spec(config.precision);
    update.rule.schedule = schedule_spec(config, updates_per_epoch, total_updates);
    update.rule.clip_norm = o.clip_norm;
    update.rule.max_nonfinite = config.train.max_nonfinite;
    update.ema = o.ema;
    switch (o.type) {
        case OptimizerType::kSgd:
            update.optimizer = SgdUpdateAttributes{o.momentum, o.nesterov, o.weight_decay, segments};
            break;
        case OptimizerType::kAdam:
        case OptimizerType::kAdamw:
            update.optimizer = AdamUpdateAttributes{
                o.beta1, o.beta2, o.epsilon, o.weight_decay, o.type == OptimizerType::kAdamw, segments};
            break;
        case OptimizerType::kLars:
            update.optimizer =
                LarsUpdateAttributes{o.momentum, o.weight_decay, o.trust_coefficient, 0, segments};
            break;
        case OptimizerType::kLamb:
            update.optimizer = LambUpdateAttributes{o.beta1, o.beta2, o.epsilon, o.weight_decay, segments};
            break;
    }
    return update;
}

}  // namespace mpt

#include "config/words.h"

namespace mpt {
namespace {

constexpr Word<ModelType> kModelTypes[] = {{ModelType::kResnet, "resnet"}};
constexpr Word<PrecisionMode> kPrecisionModes[] = {
    {PrecisionMode::kFp32, "fp32"},          {PrecisionMode::kTf32, "tf32"},
    {PrecisionMode::kAmpFp16, "amp_fp16"},   {PrecisionMode::kAmpBf16, "amp_bf16"},
    {PrecisionMode::kFp16Pure, "fp16_pure"}, {PrecisionMode::kFp8, "fp8"}};
constexpr Word<LossScalePreset> kLossScalePresets[] = {
    {LossScalePreset::kAuto, "auto"},         {LossScalePreset::kOff, "off"},
    {LossScalePreset::kDefault, "default"},   {LossScalePreset::kPytorch, "pytorch"},
    {LossScalePreset::kKeras, "keras"},       {LossScalePreset::kDeepspeed, "deepspeed"},
    {LossScalePreset::kMegatron, "megatron"}, {LossScalePreset::kNvidiaRn50, "nvidia_rn50"},
    {LossScalePreset::kStatic, "static"}};
constexpr Word<HysteresisRefill> kHysteresisRefills[] = {{HysteresisRefill::kGrowth, "growth"},
                                                         {HysteresisRefill::kConsecutive, "consecutive"}};
constexpr Word<AtFloor> kAtFloors[] = {
    {AtFloor::kStop, "stop"}, {AtFloor::kSkip, "skip"}, {AtFloor::kClamp, "clamp"}};
constexpr Word<DType> kOverrideDTypes[] = {{DType::f32, "f32"}, {DType::f16, "f16"}, {DType::bf16, "bf16"}};
constexpr Word<DataType> kDataTypes[] = {{DataType::kIdx, "idx"},
                                         {DataType::kCifar10, "cifar10"},
                                         {DataType::kSynthetic, "synthetic"},
                                         {DataType::kImageFolder, "imagefolder"}};
constexpr Word<IfMissing> kIfMissing[] = {{IfMissing::kError, "error"}, {IfMissing::kSynthetic, "synthetic"}};
constexpr Word<OptimizerType> kOptimizerTypes[] = {{OptimizerType::kSgd, "sgd"},
                                                   {OptimizerType::kAdam, "adam"},
                                                   {OptimizerType::kAdamw, "adamw"},
                                                   {OptimizerType::kLars, "lars"},
                                                   {OptimizerType::kLamb, "lamb"}};
constexpr Word<ParameterKind> kParameterKinds[] = {{ParameterKind::kNorm, "norm"},
                                                   {ParameterKind::kBias, "bias"}};
constexpr Word<ScheduleType> kScheduleTypes[] = {
    {ScheduleType::kConstant, "constant"}, {ScheduleType::kStep, "step"},
    {ScheduleType::kCosine, "cosine"},     {ScheduleType::kPoly, "poly"},
    {ScheduleType::kLinear, "linear"},     {ScheduleType::kInverseSqrt, "inverse_sqrt"}};
constexpr Word<BestMetric> kBestMetrics[] = {{BestMetric::kTop1, "top1"},
                                             {BestMetric::kTop5, "top5"},
                                             {BestMetric::kLoss, "loss"},
                                             {BestMetric::kNone, "none"}};
constexpr Word<Recompute> kRecomputes[] = {{Recompute::kNone, "none"}, {Recompute::kBlocks, "blocks"}};
constexpr Word<ConsoleStyle> kConsoleStyles[] = {{ConsoleStyle::kAuto, "auto"},
                                                 {ConsoleStyle::kBar, "bar"},
                                                 {ConsoleStyle::kPlain, "plain"},
                                                 {ConsoleStyle::kQuiet, "quiet"}};

}  // namespace

// Both directions of one choice follow from its table.
#define MPT_WORDS(Type, table)               \
    template <>                              \
    std::span<const Word<Type>> words_of() { \
        return table;                        \
    }
MPT_WORDS(ModelType, kModelTypes)
MPT_WORDS(PrecisionMode, kPrecisionModes)
MPT_WORDS(LossScalePreset, kLossScalePresets)
MPT_WORDS(HysteresisRefill, kHysteresisRefills)
MPT_WORDS(AtFloor, kAtFloors)
MPT_WORDS(DType, kOverrideDTypes)
MPT_WORDS(DataType, kDataTypes)
MPT_WORDS(IfMissing, kIfMissing)
MPT_WORDS(OptimizerType, kOptimizerTypes)
MPT_WORDS(ParameterKind, kParameterKinds)
MPT_WORDS(ScheduleType, kScheduleTypes)
MPT_WORDS(BestMetric, kBestMetrics)
MPT_WORDS(Recompute, kRecomputes)
MPT_WORDS(ConsoleStyle, kConsoleStyles)
#undef MPT_WORDS

std::string_view name_of(ModelType value) {
    return word_of(value);
}
std::string_view name_of(PrecisionMode value) {
    return word_of(value);
}
std::string_view name_of(LossScalePreset value) {
    return word_of(value);
}
std::string_view name_of(HysteresisRefill value) {
    return word_of(value);
}
std::string_view name_of(AtFloor value) {
    return word_of(value);
}
std::string_view name_of(DataType value) {
    return word_of(value);
}
std::string_view name_of(IfMissing value) {
    return word_of(value);
}
std::string_view name_of(OptimizerType value) {
    return word_of(value);
}
std::string_view name_of(ParameterKind value) {
    return word_of(value);
}
std::string_view name_of(ScheduleType value) {
    return word_of(value);
}
std::string_view name_of(BestMetric value) {
    return word_of(value);
}
std::string_view name_of(Recompute value) {
    return word_of(value);
}
std::string_view name_of(ConsoleStyle value) {
    return word_of(value);
}

}  // namespace mpt

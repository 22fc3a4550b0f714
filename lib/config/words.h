// The words of each choice, in the order they are listed. One table a type, read both ways.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "config/run_config.h"

namespace mpt {

template <class E>
struct Word {
    E value;
    std::string_view word;
};

template <class E>
inline constexpr auto kWords = std::array<Word<E>, 0>{};
template <>
inline constexpr auto kWords<ModelType> = std::to_array<Word<ModelType>>(
    {{ModelType::kResnet, "resnet"}, {ModelType::kGpt, "gpt"}, {ModelType::kTransformer, "transformer"}});
template <>
inline constexpr auto kWords<PositionType> = std::to_array<Word<PositionType>>(
    {{PositionType::kLearned, "learned"}, {PositionType::kRotary, "rotary"}});
template <>
inline constexpr auto kWords<NormType> = std::to_array<Word<NormType>>({{NormType::kLayerNorm, "layer_norm"},
                                                                        {NormType::kRmsNorm, "rms_norm"}});
template <>
inline constexpr auto kWords<NormOrder> = std::to_array<Word<NormOrder>>({{NormOrder::kPost, "post"},
                                                                          {NormOrder::kPre, "pre"}});
template <>
inline constexpr auto kWords<ActivationType> =
    std::to_array<Word<ActivationType>>({{ActivationType::kRelu, "relu"},
                                         {ActivationType::kGelu, "gelu"},
                                         {ActivationType::kGeluTanh, "gelu_tanh"},
                                         {ActivationType::kSwiglu, "swiglu"}});
template <>
inline constexpr auto kWords<TokenizerType> =
    std::to_array<Word<TokenizerType>>({{TokenizerType::kBytes, "bytes"},
                                        {TokenizerType::kCharacters, "characters"},
                                        {TokenizerType::kGpt2, "gpt2"},
                                        {TokenizerType::kSentencePiece, "sentencepiece"}});
template <>
inline constexpr auto kWords<LongLinesPolicy> = std::to_array<Word<LongLinesPolicy>>(
    {{LongLinesPolicy::kTruncate, "truncate"}, {LongLinesPolicy::kSkip, "skip"}});
template <>
inline constexpr auto kWords<PrecisionMode> =
    std::to_array<Word<PrecisionMode>>({{PrecisionMode::kFp32, "fp32"},
                                        {PrecisionMode::kTf32, "tf32"},
                                        {PrecisionMode::kAmpFp16, "amp_fp16"},
                                        {PrecisionMode::kAmpBf16, "amp_bf16"},
                                        {PrecisionMode::kFp16Pure, "fp16_pure"},
                                        {PrecisionMode::kFp8, "fp8"}});
template <>
inline constexpr auto kWords<LossScalePreset> =
    std::to_array<Word<LossScalePreset>>({{LossScalePreset::kAuto, "auto"},
                                          {LossScalePreset::kOff, "off"},
                                          {LossScalePreset::kDefault, "default"},
                                          {LossScalePreset::kPytorch, "pytorch"},
                                          {LossScalePreset::kKeras, "keras"},
                                          {LossScalePreset::kDeepspeed, "deepspeed"},
                                          {LossScalePreset::kMegatron, "megatron"},
                                          {LossScalePreset::kNvidiaRn50, "nvidia_rn50"},
                                          {LossScalePreset::kStatic, "static"}});
template <>
inline constexpr auto kWords<HysteresisRefill> = std::to_array<Word<HysteresisRefill>>(
    {{HysteresisRefill::kGrowth, "growth"}, {HysteresisRefill::kConsecutive, "consecutive"}});
template <>
inline constexpr auto kWords<AtFloor> = std::to_array<Word<AtFloor>>({{AtFloor::kStop, "stop"},
                                                                      {AtFloor::kSkip, "skip"},
                                                                      {AtFloor::kClamp, "clamp"}});
template <>
inline constexpr auto kWords<DType> =
    std::to_array<Word<DType>>({{DType::f32, "f32"}, {DType::f16, "f16"}, {DType::bf16, "bf16"}});
template <>
inline constexpr auto kWords<DataType> = std::to_array<Word<DataType>>({{DataType::kIdx, "idx"},
                                                                        {DataType::kCifar10, "cifar10"},
                                                                        {DataType::kSynthetic, "synthetic"},
                                                                        {DataType::kImageFolder,
                                                                         "imagefolder"},
                                                                        {DataType::kShards, "shards"},
                                                                        {DataType::kText, "text"},
                                                                        {DataType::kTokens, "tokens"},
                                                                        {DataType::kParallel, "parallel"}});
template <>
inline constexpr auto kWords<OnBroken> = std::to_array<Word<OnBroken>>({{OnBroken::kStop, "stop"},
                                                                        {OnBroken::kSkip, "skip"}});
template <>
inline constexpr auto kWords<OnEmptyClass> =
    std::to_array<Word<OnEmptyClass>>({{OnEmptyClass::kError, "error"}, {OnEmptyClass::kAllow, "allow"}});
template <>
inline constexpr auto kWords<IfMissing> =
    std::to_array<Word<IfMissing>>({{IfMissing::kError, "error"}, {IfMissing::kSynthetic, "synthetic"}});
template <>
inline constexpr auto kWords<OptimizerType> =
    std::to_array<Word<OptimizerType>>({{OptimizerType::kSgd, "sgd"},
                                        {OptimizerType::kAdam, "adam"},
                                        {OptimizerType::kAdamw, "adamw"},
                                        {OptimizerType::kLars, "lars"},
                                        {OptimizerType::kLamb, "lamb"}});
template <>
inline constexpr auto kWords<ParameterKind> =
    std::to_array<Word<ParameterKind>>({{ParameterKind::kNorm, "norm"}, {ParameterKind::kBias, "bias"}});
template <>
inline constexpr auto kWords<ScheduleType> =
    std::to_array<Word<ScheduleType>>({{ScheduleType::kConstant, "constant"},
                                       {ScheduleType::kStep, "step"},
                                       {ScheduleType::kCosine, "cosine"},
                                       {ScheduleType::kPoly, "poly"},
                                       {ScheduleType::kLinear, "linear"},
                                       {ScheduleType::kInverseSqrt, "inverse_sqrt"}});
template <>
inline constexpr auto kWords<BestMetric> = std::to_array<Word<BestMetric>>({{BestMetric::kTop1, "top1"},
                                                                            {BestMetric::kTop5, "top5"},
                                                                            {BestMetric::kLoss, "loss"},
                                                                            {BestMetric::kBleu, "bleu"},
                                                                            {BestMetric::kOff, "none"}});
template <>
inline constexpr auto kWords<Recompute> = std::to_array<Word<Recompute>>({{Recompute::kOff, "none"},
                                                                          {Recompute::kBlocks, "blocks"}});
template <>
inline constexpr auto kWords<AutotuneMode> =
    std::to_array<Word<AutotuneMode>>({{AutotuneMode::kOff, "off"},
                                       {AutotuneMode::kHeuristic, "heuristic"},
                                       {AutotuneMode::kMeasure, "measure"}});
template <>
inline constexpr auto kWords<ConsoleStyle> =
    std::to_array<Word<ConsoleStyle>>({{ConsoleStyle::kAuto, "auto"},
                                       {ConsoleStyle::kBar, "bar"},
                                       {ConsoleStyle::kPlain, "plain"},
                                       {ConsoleStyle::kQuiet, "quiet"}});

template <class E>
constexpr std::string_view word_of(E value) {
    for (const Word<E>& entry : kWords<E>)
        if (entry.value == value) return entry.word;
    return "?";
}

template <class E>
constexpr std::optional<E> value_of(std::string_view word) {
    for (const Word<E>& entry : kWords<E>)
        if (entry.word == word) return entry.value;
    return std::nullopt;
}

}  // namespace mpt

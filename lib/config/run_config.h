// A run as one typed value: every key of a config file, with its default. Defaults stand here and nowhere
// else; lib/config/keys.cpp says each key's range and meaning, `mpt-train keys` lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace mpt {

// A length of training. In YAML: `500` or `500 updates`, `5 epochs`, `never` where that makes sense.
enum class DurationUnit { kUpdates, kEpochs };
struct Duration {
    double amount = 0;  // 0: never, or none
    DurationUnit unit = DurationUnit::kUpdates;
    bool operator==(const Duration&) const = default;
};
// Rounded to the nearest update; at least 1 unless the amount is 0.
std::int64_t updates_in(const Duration& duration, std::int64_t updates_per_epoch);

enum class ModelType { kResnet, kGpt, kTransformer };
enum class PositionType { kLearned, kRotary };
enum class NormType { kLayerNorm, kRmsNorm };
enum class NormOrder { kPost, kPre };
enum class ActivationType { kRelu, kGelu, kGeluTanh, kSwiglu };
struct ModelConfig {
    ModelType type = ModelType::kResnet;
    // resnet: 18 34 50 101 152: ImageNet stem; 20 32 44 56 110: CIFAR type. gpt, transformer: blocks; the
    // reader's default is 12 and 6.
    std::int64_t depth = 20;
    std::int64_t num_classes = 10;
    bool zero_init_residual = false;
    double norm_momentum = 0.1;  // share of the new batch in the running statistics
    double norm_epsilon = 1e-5;
    // gpt and transformer
    std::optional<std::int64_t> decoder_depth;  // transformer; unset: depth
    std::int64_t width = 512;
    std::int64_t heads = 8;
    std::optional<std::int64_t> ffn_width;        // unset: 4 width, with swiglu 8/3 width
    std::optional<std::int64_t> vocabulary_size;  // unset: the tokenizer's
    std::int64_t context = 256;                   // longest sequence
    PositionType positions = PositionType::kLearned;
    NormType norm = NormType::kLayerNorm;
    NormOrder norm_order = NormOrder::kPost;
    std::optional<ActivationType> activation;  // unset: gelu_tanh in gpt, relu in transformer
    bool bias = true;
    bool tied_embeddings = true;
    double dropout = 0;
    double attention_dropout = 0, activation_dropout = 0;  // transformer
    bool is_text() const { return type != ModelType::kResnet; }
    bool operator==(const ModelConfig&) const = default;
};

enum class PrecisionMode { kFp32, kTf32, kAmpFp16, kAmpBf16, kFp16Pure, kFp8 };
// kAuto: kDefault for amp_fp16, kStatic at 1024 for fp16_pure, kOff for the other modes.
enum class LossScalePreset {
    kAuto,
    kOff,
    kDefault,
    kPytorch,
    kKeras,
    kDeepspeed,
    kMegatron,
    kNvidiaRn50,
    kStatic
};
enum class HysteresisRefill { kGrowth, kConsecutive };  // at growth, or by every clean update
enum class AtFloor { kStop, kSkip, kClamp };
struct LossScaleConfig {
    LossScalePreset preset = LossScalePreset::kAuto;
    // Unset: the preset decides.
    std::optional<double> init;
    std::optional<double> growth_factor;
    std::optional<std::int64_t> growth_interval;
    std::optional<double> backoff;
    std::optional<std::int64_t> hysteresis;
    std::optional<HysteresisRefill> hysteresis_refill;
    std::optional<double> floor;    // 0: no floor
    std::optional<double> ceiling;  // 0: no ceiling but the largest finite f32
    std::optional<std::int64_t> max_skips_at_floor;
    std::optional<AtFloor> at_floor;
    bool operator==(const LossScaleConfig&) const = default;
};
struct PrecisionOverride {
    std::string match;  // a name pattern with * and ?, e.g. layer4.*
    DType dtype = DType::f32;
    bool operator==(const PrecisionOverride&) const = default;
};
struct Fp8Config {
    std::int64_t history = 16;  // greatest magnitudes that a tensor's scale looks back on
    std::int64_t margin = 0;    // powers of two that it leaves free
    bool operator==(const Fp8Config&) const = default;
};
struct PrecisionConfig {
    PrecisionMode mode = PrecisionMode::kFp32;
    Fp8Config fp8;
    LossScaleConfig loss_scale;
    std::vector<PrecisionOverride> overrides;
    bool fallback = false;
    bool operator==(const PrecisionConfig&) const = default;
};

enum class DataType { kIdx, kCifar10, kSynthetic, kImageFolder, kShards, kText, kTokens, kParallel };
enum class OnBroken { kStop, kSkip };
enum class OnEmptyClass { kError, kAllow };
enum class TokenizerType { kBytes, kCharacters, kGpt2, kSentencePiece };
enum class LongLinesPolicy { kTruncate, kSkip };
enum class IfMissing { kError, kSynthetic };
enum class NormalizeKind { kAuto, kOff, kGiven };
struct NormalizeConfig {
    NormalizeKind kind = NormalizeKind::kAuto;  // kAuto: the constants of the data set
    std::vector<double> mean;                   // of pixels in 0..1; one for all channels, or one a channel
    std::vector<double> std;
    bool operator==(const NormalizeConfig&) const = default;
};
struct AugmentConfig {
    std::int64_t crop_padding = 0;
    bool horizontal_flip = false;
    bool random_resized_crop = false;
    std::vector<double> crop_scale = {0.08, 1};
    std::vector<double> crop_ratio = {0.75, 4.0 / 3};
    std::vector<double> color_jitter;  // brightness, contrast, saturation, hue; the last may be missing
    std::int64_t rand_augment = 0;     // magnitude; 0: off
    std::int64_t rand_augment_ops = 2;
    double random_erasing = 0;  // probability
    double mixup = 0;           // alpha; 0: off
    double cutmix = 0;
    NormalizeConfig normalize;
    bool operator==(const AugmentConfig&) const = default;
};
struct DataConfig {
    DataType type = DataType::kSynthetic;
    std::string path;                         // absolute after reading; empty for synthetic
    std::optional<std::int64_t> image_size;   // unset: as the files hold it; synthetic: as the model likes it
    std::optional<std::int64_t> channels;     // unset: as the files hold it; synthetic: 3
    std::int64_t num_samples = 1280;          // synthetic only: training images
    std::optional<std::int64_t> train_limit;  // use only the first N training samples
    std::optional<std::int64_t> eval_limit;   // use only the first N test samples
    std::optional<std::int64_t> resize;       // pictures: short side before the middle is cut out
    OnBroken broken = OnBroken::kStop;
    OnEmptyClass empty_classes = OnEmptyClass::kError;
    AugmentConfig augment;
    bool shuffle = true;
    bool drop_last = true;
    std::int64_t workers = 1;
    std::int64_t prefetch = 2;  // batches
    IfMissing if_missing = IfMissing::kError;
    // Text. Paths are absolute after reading, empty when not given.
    std::string validation_path;
    std::string source_path, target_path;  // parallel: two files instead of one with tabs
    std::string validation_source_path, validation_target_path;
    double validation_fraction = 0.1;  // where no validation files are given
    std::optional<TokenizerType>
        tokenizer;               // unset: characters of text, gpt2 of tokens, sentencepiece of pairs
    std::string tokenizer_path;  // gpt2: folder of encoder.json and vocab.bpe; sentencepiece: a model
    std::int64_t sentencepiece_size = 8000;  // vocabulary to learn
    std::optional<std::int64_t>
        sequence_length;            // gpt: a window, unset: model.context; synthetic pairs: unset: 32
    std::int64_t max_tokens = 100;  // parallel: of a side
    LongLinesPolicy long_lines = LongLinesPolicy::kSkip;
    std::int64_t buckets = 6;  // parallel: lengths a batch can have, at most
    bool operator==(const DataConfig&) const = default;
};

struct TrainConfig {
    // Exactly one is set after reading (1 epoch when the file says neither).
    std::optional<std::int64_t> epochs;
    std::optional<std::int64_t> steps;            // updates
    std::int64_t batch_size = 128;                // what one update consumes
    std::int64_t batch_tokens = 4096;             // transformer: the same in tokens of a side, with padding
    std::int64_t accumulate = 1;                  // micro-steps an update; divides batch_size
    std::optional<std::int64_t> eval_batch_size;  // unset: the micro-batch
    double label_smoothing = 0;
    Duration eval_every = {1, DurationUnit::kEpochs};
    std::int64_t log_every = 10;      // updates
    std::int64_t early_stop = 0;      // evaluations without improvement; 0: off
    std::int64_t warmup_steps = 5;    // first updates not counted in images/s
    std::int64_t max_nonfinite = 40;  // non-finite updates in a row before exit 4
    bool operator==(const TrainConfig&) const = default;
    std::int64_t micro_batch() const { return batch_size / accumulate; }
};

enum class OptimizerType { kSgd, kAdam, kAdamw, kLars, kLamb };
enum class ParameterKind { kNorm, kBias };
struct OptimizerConfig {
    OptimizerType type = OptimizerType::kSgd;
    double lr = 0.1;  // the reader's default is 0.001 for adam, adamw and lamb
    double momentum = 0.9;
    bool nesterov = false;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
    std::vector<ParameterKind> exclude_from_decay = {ParameterKind::kNorm, ParameterKind::kBias};
    double clip_norm = 0;  // 0: off
    double ema = 0;        // decay of the weights' moving average; 0: off
    double trust_coefficient = 0.001;
    bool operator==(const OptimizerConfig&) const = default;
};

enum class ScheduleType { kConstant, kStep, kCosine, kPoly, kLinear, kInverseSqrt };
struct ScheduleConfig {
    ScheduleType type = ScheduleType::kConstant;
    Duration warmup;                   // linear: update k of w uses lr * k / w
    std::optional<Duration> length;    // where cosine, poly and linear reach min_lr; unset: the run's end
    std::vector<Duration> milestones;  // step: lr * gamma from each of these on; all of one unit, rising
    double gamma = 0.1;                // step
    double power = 2;                  // poly
    double min_lr = 0;                 // never below this, warm-up aside
    bool operator==(const ScheduleConfig&) const = default;
};

// How validation sentences are translated for BLEU.
struct TranslationConfig {
    bool bleu = true;
    std::int64_t beam = 1;
    double length_penalty = 0.6;
    std::optional<std::int64_t> limit;  // sentences; unset: all
    bool operator==(const TranslationConfig&) const = default;
};

enum class BestMetric { kTop1, kTop5, kLoss, kBleu, kOff };
struct CheckpointConfig {
    Duration every = {1, DurationUnit::kEpochs};
    std::optional<std::int64_t> keep = 3;  // newest kept, the best not counted; unset: all
    BestMetric best =
        BestMetric::kTop1;      // the reader's default is loss for gpt, bleu or loss for transformer
    std::string init_from;      // safetensors with the starting weights; empty: random
    bool init_partial = false;  // load what fits and list the rest
    bool operator==(const CheckpointConfig&) const = default;
};

enum class Recompute { kOff, kBlocks };
struct MemoryConfig {
    Recompute recompute = Recompute::kOff;
    std::optional<std::int64_t> limit_bytes;  // unset: what the machine has
    bool huge_pages = true;
    bool operator==(const MemoryConfig&) const = default;
};

// How algorithms of a GPU's libraries are taken.
enum class AutotuneMode { kOff, kHeuristic, kMeasure };
struct AutotuneConfig {
    AutotuneMode mode = AutotuneMode::kMeasure;
    std::int64_t workspace_mib = 256;  // most that one call may take
    bool operator==(const AutotuneConfig&) const = default;
};

enum class ConsoleStyle { kAuto, kBar, kPlain, kQuiet };
struct LogConfig {
    ConsoleStyle console = ConsoleStyle::kAuto;  // kAuto: a bar on a terminal, plain lines otherwise
    bool tensorboard = false;
    bool operator==(const LogConfig&) const = default;
};

struct DebugConfig {
    bool dump_graph = false;
    std::vector<std::string> skip_passes;
    bool reference_kernels = false;
    std::int64_t histograms_every = 0;  // updates; 0: never
    std::int64_t profile = 0;           // updates to time node by node
    bool operator==(const DebugConfig&) const = default;
};

struct RunConfig {
    std::string name;  // default: the config file's stem
    std::uint64_t seed = 1;
    std::string device = "auto";          // auto, cpu, cuda or cuda:N
    std::string output_dir;               // absolute; default: runs/<name> in the working directory
    std::optional<std::int64_t> threads;  // unset: one a core
    bool deterministic = false;           // on a GPU; a CPU always is
    AutotuneConfig autotune;
    ModelConfig model;
    PrecisionConfig precision;
    DataConfig data;
    TrainConfig train;
    OptimizerConfig optimizer;
    ScheduleConfig schedule;
    CheckpointConfig checkpoint;
    TranslationConfig translation;
    MemoryConfig memory;
    LogConfig log;
    DebugConfig debug;
    bool operator==(const RunConfig&) const = default;
};

// The words of the YAML, used in every log, dump and message.
std::string_view name_of(ModelType value);
std::string_view name_of(TokenizerType value);
std::string_view name_of(PrecisionMode value);
std::string_view name_of(LossScalePreset value);
std::string_view name_of(HysteresisRefill value);
std::string_view name_of(AtFloor value);
std::string_view name_of(DataType value);
std::string_view name_of(IfMissing value);
std::string_view name_of(OptimizerType value);
std::string_view name_of(ParameterKind value);
std::string_view name_of(ScheduleType value);
std::string_view name_of(BestMetric value);
std::string_view name_of(Recompute value);
std::string_view name_of(AutotuneMode value);
std::string_view name_of(ConsoleStyle value);

}  // namespace mpt

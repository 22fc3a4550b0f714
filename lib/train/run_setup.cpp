#include "train/run_setup.h"

#include <algorithm>
#include <filesystem>
#include <new>

#include "backends/cpu/threads.h"
#include "backends/cuda/device.h"
#include "core/available_memory.h"
#include "core/error.h"

namespace mpt {
namespace {

constexpr std::int64_t kImagenetSide = 224;
constexpr std::int64_t kCifarSide = 32;

bool has_imagenet_stem(std::int64_t depth) {
    return depth == 18 || depth == 34 || depth == 50 || depth == 101 || depth == 152;
}

SourceType source_type(DataType type) {
    switch (type) {
        case DataType::kIdx:
            return SourceType::kIdx;
        case DataType::kCifar10:
            return SourceType::kCifar10;
        case DataType::kImageFolder:
            return SourceType::kImageFolder;
        case DataType::kShards:
            return SourceType::kShards;
        case DataType::kText:
        case DataType::kTokens:
        case DataType::kParallel:
        case DataType::kSynthetic:
            break;
    }
    return SourceType::kSynthetic;
}

}  // namespace

AugmentOptions augmentation_of(const AugmentConfig& config) {
    AugmentOptions options;
    options.crop_padding = config.crop_padding;
    options.horizontal_flip = config.horizontal_flip;
    options.random_resized_crop = config.random_resized_crop;
    std::copy_n(config.crop_scale.begin(), 2, options.crop_scale.begin());
    std::copy_n(config.crop_ratio.begin(), 2, options.crop_ratio.begin());
    std::copy(config.color_jitter.begin(), config.color_jitter.end(), options.color_jitter.begin());
    options.rand_augment_ops = config.rand_augment_ops;
    options.rand_augment_magnitude = config.rand_augment;
    options.random_erasing = config.random_erasing;
    options.mixup = config.mixup;
    options.cutmix = config.cutmix;
    return options;
}

SourceOptions source_options(const RunConfig& config, Split split) {
    SourceOptions options;
    options.type = source_type(config.data.type);
    options.path = config.data.path;
    options.split = split;
    options.num_classes = config.model.num_classes;
    options.seed = config.seed;
    options.if_missing =
        config.data.if_missing == IfMissing::kSynthetic ? MissingData::kSynthetic : MissingData::kError;
    // Pictures and synthetic images have a usual size by the model; other files have their own.
    const bool synthetic = options.type != SourceType::kIdx && options.type != SourceType::kCifar10;
    const std::int64_t side = has_imagenet_stem(config.model.depth) ? kImagenetSide : kCifarSide;
    options.geometry.height = config.data.image_size.value_or(synthetic ? side : 0);
    options.geometry.width = options.geometry.height;
    options.geometry.channels = config.data.channels.value_or(synthetic ? 3 : 0);
    options.synthetic_samples = split == Split::kTrain
                                    ? config.data.num_samples
                                    : std::max<std::int64_t>(config.data.num_samples / 5, 1);
    options.limit = (split == Split::kTrain ? config.data.train_limit : config.data.eval_limit).value_or(0);
    const std::int64_t size = options.geometry.height;
    const bool crops = config.data.augment.random_resized_crop;
    options.resize = config.data.resize.value_or(crops ? (size * 8 + 3) / 7 : size);  // 256 for 224
    options.broken = config.data.broken == OnBroken::kSkip ? BrokenFiles::kSkip : BrokenFiles::kStop;
    options.empty_classes =
        config.data.empty_classes == OnEmptyClass::kAllow ? EmptyClasses::kAllow : EmptyClasses::kError;
    options.num_threads = num_threads(config);
    return options;
}

Batching batching_of(const RunConfig& config) {
    return {config.train.batch_size, config.train.accumulate, config.data.drop_last};
}

StreamOptions training_stream(const RunConfig& config, const StreamPosition& start) {
    StreamOptions options;
    options.seed = config.seed;
    options.order = config.data.shuffle ? Order::kShuffled : Order::kInOrder;
    options.augment = augmentation_of(config.data.augment);
    options.batching = batching_of(config);
    options.start = start;
    options.end_epoch = config.train.epochs.value_or(-1);
    options.workers = static_cast<int>(config.data.workers);
    options.prefetch = static_cast<int>(std::max<std::int64_t>(config.data.prefetch, 1));
    return options;
}

std::int64_t evaluation_batch(const RunConfig& config) {
    return config.train.eval_batch_size.value_or(config.train.micro_batch());
}

namespace {

std::unique_ptr<RunData> open_data_of(const RunConfig& config, const TrainedWith& trained,
                                      const AskStop& stop) {
    switch (config.model.type) {
        case ModelType::kGpt:
            return open_token_data(config, trained.tokenizer);
        case ModelType::kTransformer:
            return open_pair_data(config, trained.tokenizer);
        case ModelType::kResnet:
            break;
    }
    return open_image_data(config, trained, stop);
}

std::string remedy_of_size(DataType type) {
    switch (type) {
        case DataType::kText:
            return "take a smaller file, or write its tokens into shards (data.type: tokens), which are not "
                   "read as a whole";
        case DataType::kTokens:
            return "take fewer shards";
        case DataType::kParallel:
            return "take smaller files";
        case DataType::kSynthetic:
            return "lower data.num_samples";
        case DataType::kIdx:
        case DataType::kCifar10:
        case DataType::kImageFolder:
        case DataType::kShards:
            break;
    }
    return "take fewer pictures";
}

}  // namespace

std::unique_ptr<RunData> open_data(const RunConfig& config, const TrainedWith& trained, const AskStop& stop) {
    try {
        return open_data_of(config, trained, stop);
    } catch (const std::bad_alloc&) {
        const DataConfig& data = config.data;
        const std::string& path = data.path.empty() ? data.source_path : data.path;
        throw Error(ExitCode::kResource, (path.empty() ? "synthetic data" : path) +
                                             ": does not fit into memory, there is " +
                                             print(available_memory()) + "; " + remedy_of_size(data.type));
    } catch (const std::filesystem::filesystem_error& error) {  // a loop of links, a folder nobody may read
        throw Error(ExitCode::kData, error.path1().string() + ": cannot be used: " + error.code().message());
    }
}

void expect_batches(TrainingProgram& program, const RunData& data, const StreamPosition& start) {
    for (const BatchShape& shape : data.training_shapes(start)) program.expect_micro_batch(shape);
    for (const BatchShape& shape : data.evaluation_shapes()) program.expect_evaluation_batch(shape);
}

void check_supported(const RunConfig& config) {
    if (config.device != "auto" && config.device != "cpu" && gpu::count_devices().count == 0)
        throw Error(ExitCode::kUsage, "--device " + config.device + ": " + gpu::count_devices().reason +
                                          "; use --device cpu or auto");
    if (config.train.early_stop > 0 && config.checkpoint.best == BestMetric::kOff)
        throw Error(ExitCode::kUsage, "train.early_stop needs a metric to watch: set checkpoint.best");
    if (config.optimizer.ema > 0 && config.precision.mode == PrecisionMode::kFp16Pure)
        throw Error(ExitCode::kUsage,
                    "optimizer.ema needs f32 masters, precision.mode fp16_pure has none; set one of the two "
                    "otherwise");
}

int num_threads(const RunConfig& config) {
    return static_cast<int>(config.threads.value_or(cpu::num_usable_cores()));
}

}  // namespace mpt

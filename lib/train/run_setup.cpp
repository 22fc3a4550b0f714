#include "train/run_setup.h"

#include <algorithm>

#include "backends/cpu/threads.h"
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
        case DataType::kSynthetic:
            break;
    }
    return SourceType::kSynthetic;
}

}  // namespace

SourceOptions source_options(const RunConfig& config, Split split) {
    SourceOptions options;
    options.type = source_type(config.data.type);
    options.path = config.data.path;
    options.split = split;
    options.num_classes = config.model.num_classes;
    options.seed = config.seed;
    options.if_missing =
        config.data.if_missing == IfMissing::kSynthetic ? MissingData::kSynthetic : MissingData::kError;
    // What makes synthetic images by itself has a usual size by the model; files have their own.
    const bool synthetic = options.type == SourceType::kSynthetic || options.type == SourceType::kImageFolder;
    const std::int64_t side = has_imagenet_stem(config.model.depth) ? kImagenetSide : kCifarSide;
    options.geometry.height = config.data.image_size.value_or(synthetic ? side : 0);
    options.geometry.width = options.geometry.height;
    options.geometry.channels = config.data.channels.value_or(synthetic ? 3 : 0);
    options.synthetic_samples = split == Split::kTrain
                                    ? config.data.num_samples
                                    : std::max<std::int64_t>(config.data.num_samples / 5, 1);
    options.limit = (split == Split::kTrain ? config.data.train_limit : config.data.eval_limit).value_or(0);
    return options;
}

namespace {

// The config's constants, one for all channels or one a channel, or those of the data set.
ChannelStatistics normalization(const RunConfig& config, const ImageSource& train) {
    const NormalizeConfig& normalize = config.data.augment.normalize;
    const auto channels = static_cast<std::size_t>(train.geometry().channels);
    if (normalize.kind == NormalizeKind::kOff)
        return {std::vector<float>(channels, 0.0f), std::vector<float>(channels, 1.0f)};
    if (normalize.kind == NormalizeKind::kAuto) {
        // Of the whole set, so that a run on part of it and its evaluation with another limit see the same
        // images.
        SourceOptions whole = source_options(config, Split::kTrain);
        whole.limit = 0;
        ChannelStatistics statistics =
            channel_statistics(config.data.train_limit ? *open_source(whole).source : train);
        // A channel of one value has no spread: it is only shifted.
        for (float& deviation : statistics.stddev) deviation = deviation > 0 ? deviation : 1.0f;
        return statistics;
    }
    const auto per_channel = [&](const std::vector<double>& given, const char* key) {
        if (given.size() != 1 && given.size() != channels)
            throw Error(ExitCode::kUsage, std::string("data.augment.normalize.") + key + ": " +
                                              std::to_string(given.size()) + " values for images of " +
                                              std::to_string(channels) +
                                              " channels; give one, or one a channel");
        std::vector<float> values;
        for (std::size_t c = 0; c < channels; ++c)
            values.push_back(static_cast<float>(given.size() == 1 ? given[0] : given[c]));
        return values;
    };
    return {per_channel(normalize.mean, "mean"), per_channel(normalize.std, "std")};
}

}  // namespace

Batching batching_of(const RunConfig& config) {
    return {config.train.batch_size, config.train.accumulate, config.data.drop_last};
}

StreamOptions training_stream(const RunConfig& config, const StreamPosition& start) {
    StreamOptions options;
    options.seed = config.seed;
    options.order = config.data.shuffle ? Order::kShuffled : Order::kInOrder;
    options.augment = {config.data.augment.crop_padding, config.data.augment.horizontal_flip};
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

std::unique_ptr<ImageSource> open_test_data(const RunConfig& config, std::vector<std::string>* warnings) {
    OpenedSource opened = open_source(source_options(config, Split::kTest));
    if (!opened.warning.empty()) warnings->push_back(opened.warning);
    return std::move(opened.source);
}

RunData open_data(const RunConfig& config) {
    RunData data;
    OpenedSource train = open_source(source_options(config, Split::kTrain));
    if (!train.warning.empty()) data.warnings.push_back(train.warning);
    data.train = std::move(train.source);
    std::vector<std::string> ignored;  // the same as for the training data
    data.test = open_test_data(config, &ignored);
    const bool synthetic = data.train->info().origin == "synthetic";
    if (synthetic != (data.test->info().origin == "synthetic"))
        throw Error(
            ExitCode::kData,
            config.data.path + ": has only the " + (synthetic ? "test" : "training") +
                " files; data.if_missing: synthetic stands in for a data set that is not there at all");
    if (synthetic) data.warnings.push_back("the images are synthetic: accuracy on them means nothing");
    if (data.test->geometry() != data.train->geometry())
        throw Error(ExitCode::kData, data.test->info().origin + ": test images are " +
                                         to_string(data.test->geometry()) + ", training images " +
                                         to_string(data.train->geometry()));

    const StreamOptions stream = training_stream(config, {});
    const StreamOptions evaluation =
        evaluation_stream(evaluation_batch(config), stream.workers, stream.prefetch);
    DataDescription& d = data.description;
    d.height = data.train->geometry().height;
    d.width = data.train->geometry().width;
    d.channels = data.train->geometry().channels;
    d.num_classes = data.train->num_classes();
    ChannelStatistics statistics = normalization(config, *data.train);
    d.mean = std::move(statistics.mean);
    d.std = std::move(statistics.stddev);
    d.updates_per_epoch = std::max<std::int64_t>(num_windows(data.train->num_samples(), stream.batching), 1);
    d.total_updates = config.train.steps.value_or(config.train.epochs.value_or(1) * d.updates_per_epoch);
    d.host_bytes = data.train->memory_bytes() + data.test->memory_bytes() +
                   stream_memory_bytes(*data.train, stream) + stream_memory_bytes(*data.test, evaluation);
    return data;
}

void expect_batches(TrainingProgram& program, const RunConfig& config, const RunData& data,
                    const StreamPosition& start) {
    for (const std::int64_t offset : {std::int64_t{0}, start.offset})
        for (const Window& window : epoch_windows(data.train->num_samples(), batching_of(config), offset))
            for (const std::int64_t samples : window.micro_batches)
                if (samples != config.train.micro_batch()) program.expect_micro_batch(samples);
    const std::int64_t batch = evaluation_batch(config);
    const std::int64_t samples = data.test->num_samples();
    if (samples >= batch) program.expect_evaluation_batch(batch);
    if (samples % batch != 0) program.expect_evaluation_batch(samples % batch);
}

void check_supported(const RunConfig& config) {
    if (config.device != "auto" && config.device != "cpu")
        throw Error(ExitCode::kUsage, "--device " + config.device +
                                          ": this build has no CUDA backend; use --device cpu or auto");
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

std::int64_t memory_limit(const RunConfig& config) {
    return config.memory.limit_bytes.value_or(available_memory_bytes());
}

}  // namespace mpt

// Images: a source each for training and test, batches through dataset's stream.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "train/run_data.h"
#include "train/run_setup.h"

namespace mpt {

// The config's constants, one for all channels or one a channel, or those of the data set.
ChannelStatistics normalization_of(const RunConfig& config, const ImageSource& train, const AskStop& stop) {
    const NormalizeConfig& normalize = config.data.augment.normalize;
    const auto channels = static_cast<std::size_t>(train.geometry().channels);
    if (normalize.kind == NormalizeKind::kOff)
        return {std::vector<float>(channels, 0.0f), std::vector<float>(channels, 1.0f)};
    if (normalize.kind == NormalizeKind::kAuto) {
        // Of the whole set, so that a run on part of it and its evaluation with another limit see the same
        // images.
        SourceOptions whole = source_options(config, Split::kTrain);
        whole.limit = 0;
        whole.stop = stop;
        ChannelStatistics statistics =
            channel_statistics(config.data.train_limit ? *open_source(whole).source : train, stop);
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

void set_erase_colour(StreamOptions& options, const std::vector<float>& mean) {
    for (std::size_t c = 0; c < std::min(options.augment.erase_colour.size(), mean.size()); ++c)
        options.augment.erase_colour[c] =
            static_cast<std::uint8_t>(std::clamp(std::lround(255 * mean[c]), 0L, 255L));
}

namespace {

class ImageFeed : public BatchFeed {
  public:
    ImageFeed(const ImageSource& source, const StreamOptions& options)
        : source_(source), options_(options), stream_(source, options) {}

    FeedItem next() override {
        const NextBatch next = stream_.next();
        FeedItem item;
        item.wait_ms = next.wait_ms;
        if (next.batch == nullptr) return item;
        const Batch& batch = *next.batch;
        const auto bytes = static_cast<std::size_t>(batch.count * source_.geometry().bytes());
        batch_.shape = {.rows = batch.count};
        batch_.weight = batch.count;
        batch_.inputs = {{"images", std::as_bytes(batch.images.bytes().first(bytes))},
                         graph_input<std::int32_t>("labels", batch.labels)};
        if (!batch.label_shares.empty()) {
            batch_.inputs.push_back(graph_input<std::int32_t>("second_labels", batch.second_labels));
            batch_.inputs.push_back(graph_input<float>("label_shares", batch.label_shares));
        }
        item.batch = &batch_;
        item.window_weight = batch.window_samples;
        item.micro_index = batch.micro_index;
        item.num_micro = batch.num_micro;
        item.epoch = batch.epoch;
        item.after = batch.after();
        if (item.ends_update() &&
            num_windows(source_.num_samples(), options_.batching, item.after.offset) == 0)
            item.after = {batch.epoch + 1, 0};
        return item;
    }

  private:
    const ImageSource& source_;
    StreamOptions options_;
    BatchStream stream_;
    MicroBatch batch_;
};

class ImageRunData : public RunData {
  public:
    ImageRunData(const RunConfig& config, const TrainedWith& trained, const AskStop& stop);

    Unit unit() const override { return Unit::kImages; }
    std::string summary() const override {
        const DataDescription& d = description;
        return fmt::format("{} training and {} test images of {}x{}x{}, {} classes, {}",
                           num_training_samples(), test_->num_samples(), d.height, d.width, d.channels,
                           d.num_classes, first().info().origin);
    }
    DataIdentity identity() const override {
        return {{num_training_samples(), train_ ? train_->fingerprint() : 0},
                {test_->num_samples(), test_->fingerprint()}};
    }
    std::vector<std::string> class_names() const override { return first().info().class_names; }

    std::vector<BatchShape> training_shapes(const StreamPosition& start) const override {
        std::vector<BatchShape> shapes = {description.micro_batch};
        for (const std::int64_t offset : {std::int64_t{0}, start.offset})
            for (const Window& window : epoch_windows(num_training_samples(), batching_of(config_), offset))
                for (const std::int64_t rows : window.micro_batches)
                    if (rows != shapes.back().rows) shapes.push_back({.rows = rows});
        return shapes;
    }
    std::vector<BatchShape> evaluation_shapes() const override {
        std::vector<BatchShape> shapes;
        const std::int64_t batch = evaluation_batch(config_);
        const std::int64_t samples = test_->num_samples();
        if (samples >= batch) shapes.push_back({.rows = batch});
        if (samples % batch != 0) shapes.push_back({.rows = samples % batch});
        return shapes;
    }
    std::unique_ptr<BatchFeed> training_feed(const StreamPosition& start) const override {
        MPT_CHECK(train_ != nullptr);
        StreamOptions options = training_stream(config_, start);
        set_erase_colour(options, description.mean);
        return std::make_unique<ImageFeed>(*train_, options);
    }
    std::unique_ptr<BatchFeed> evaluation_feed() const override {
        return std::make_unique<ImageFeed>(*test_, evaluation_options());
    }

  private:
    StreamOptions evaluation_options() const {
        const StreamOptions training = training_stream(config_, {});
        return evaluation_stream(evaluation_batch(config_), training.workers, training.prefetch);
    }
    // 0 where only the evaluation's are opened.
    std::int64_t num_training_samples() const { return train_ ? train_->num_samples() : 0; }
    const ImageSource& first() const { return train_ ? *train_ : *test_; }
    OpenedSource open(Split split, const TrainedWith& trained, const AskStop& stop);
    void open_training(const TrainedWith& trained, const AskStop& stop);
    void open_evaluation(const TrainedWith& trained, const AskStop& stop);
    void describe(const ChannelStatistics& known, const AskStop& stop);

    RunConfig config_;
    std::unique_ptr<ImageSource> train_, test_;  // no train_ where nothing is needed of it
};

// What an evaluation needs of the training samples a checkpoint may have brought: constants and class names.
bool needs_training(const RunConfig& config, const TrainedWith& trained) {
    if (!trained.only_evaluated) return true;
    const bool named_classes =
        config.data.type == DataType::kImageFolder || config.data.type == DataType::kShards;
    return (trained.normalization.mean.empty() &&
            config.data.augment.normalize.kind == NormalizeKind::kAuto) ||
           (trained.class_names.empty() && named_classes);
}

ImageRunData::ImageRunData(const RunConfig& config, const TrainedWith& trained, const AskStop& stop)
    : config_(config) {
    if (needs_training(config, trained)) open_training(trained, stop);
    open_evaluation(trained, stop);
    describe(trained.normalization, stop);
}

OpenedSource ImageRunData::open(Split split, const TrainedWith& trained, const AskStop& stop) {
    SourceOptions options = source_options(config_, split);
    options.stop = stop;
    options.class_names = trained.class_names;
    options.class_names_from = trained.class_names.empty() ? "" : trained.checkpoint;
    if (trained.only_evaluated && split == Split::kTrain) options.empty_classes = EmptyClasses::kAllow;
    OpenedSource opened = open_source(options);
    if (!opened.warning.empty() && warnings.empty()) warnings.push_back(opened.warning);  // alike for both
    warnings.insert(warnings.end(), opened.notices.begin(), opened.notices.end());
    return opened;
}

void ImageRunData::open_training(const TrainedWith& trained, const AskStop& stop) {
    if (trained.only_evaluated && !trained.checkpoint.empty())
        warnings.push_back(trained.checkpoint +
                           ": does not say what its images were normalised with (an older version wrote it); "
                           "that is measured on the training images of " +
                           config_.data.path);
    train_ = open(Split::kTrain, trained, stop).source;
}

void ImageRunData::open_evaluation(const TrainedWith& trained, const AskStop& stop) {
    test_ = open(Split::kTest, trained, stop).source;
    const bool synthetic = test_->info().origin == "synthetic";
    const bool part = train_ ? synthetic != (train_->info().origin == "synthetic")
                             : synthetic && config_.data.type != DataType::kSynthetic &&
                                   std::filesystem::exists(config_.data.path);
    if (part)
        throw Error(
            ExitCode::kData,
            config_.data.path + ": has no " + (synthetic ? "test" : "training") +
                " files; data.if_missing: synthetic stands in for a data set that is not there at all");
    if (synthetic && warnings.empty())
        warnings.push_back("the images are synthetic: accuracy on them means nothing");
    if (train_ && test_->geometry() != train_->geometry())
        throw Error(ExitCode::kData, test_->info().origin + ": test images are " +
                                         to_string(test_->geometry()) + ", training images " +
                                         to_string(train_->geometry()));
}

void ImageRunData::describe(const ChannelStatistics& known, const AskStop& stop) {
    const StreamOptions stream = training_stream(config_, {});
    DataDescription& d = description;
    d.height = first().geometry().height;
    d.width = first().geometry().width;
    d.channels = first().geometry().channels;
    d.num_classes = first().num_classes();
    const bool take_known =
        !known.mean.empty() && config_.data.augment.normalize.kind == NormalizeKind::kAuto;
    if (take_known && static_cast<std::int64_t>(known.mean.size()) != d.channels)
        throw Error(ExitCode::kCheckpoint,
                    fmt::format("the checkpoint was trained on images of {} channels, these have {}; set "
                                "data.channels: {}",
                                known.mean.size(), d.channels, known.mean.size()));
    ChannelStatistics statistics = take_known ? known : normalization_of(config_, first(), stop);
    d.mean = std::move(statistics.mean);
    d.std = std::move(statistics.stddev);
    d.micro_batch = {.rows = config_.train.micro_batch()};
    d.updates_per_epoch = std::max<std::int64_t>(num_windows(num_training_samples(), stream.batching), 1);
    d.total_updates = config_.train.steps.value_or(config_.train.epochs.value_or(1) * d.updates_per_epoch);
    d.host_bytes = test_->memory_bytes() + stream_memory_bytes(*test_, evaluation_options());
    if (train_) d.host_bytes += train_->memory_bytes() + stream_memory_bytes(*train_, stream);
}

}  // namespace

std::unique_ptr<RunData> open_image_data(const RunConfig& config, const TrainedWith& trained,
                                         const AskStop& stop) {
    return std::make_unique<ImageRunData>(config, trained, stop);
}

}  // namespace mpt

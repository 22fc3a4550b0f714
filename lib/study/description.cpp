#include "study/description.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/error.h"
#include "dataset/data_file.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

namespace fs = std::filesystem;

struct Known {
    std::int64_t samples = 0, height = 0, width = 0, channels = 0;
};

std::int64_t big_endian(const std::uint8_t* bytes) {
    return (std::int64_t{bytes[0]} << 24) | (std::int64_t{bytes[1]} << 16) | (std::int64_t{bytes[2]} << 8) |
           std::int64_t{bytes[3]};
}

// The 16 bytes before the images; zeros when there is no readable file.
Known idx_header(const std::string& folder) {
    for (const char* name : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}) {
        const fs::path path = fs::path(folder) / name;
        std::error_code error;
        if (!fs::is_regular_file(path, error)) continue;
        try {
            DataFile file(path.string());
            std::array<std::uint8_t, 16> header{};
            if (file.read(header) != header.size()) return {};
            return {big_endian(&header[4]), big_endian(&header[8]), big_endian(&header[12]), 1};
        } catch (const Error&) {
            return {};  // opening the data will say what is wrong with it
        }
    }
    return {};
}

// Names alone are looked at. 0 where there is no such data, or opening it will say what is wrong.
std::int64_t num_pictures(const RunConfig& config) {
    std::error_code error;
    if (!fs::is_directory(config.data.path, error)) return 0;
    SourceOptions options = source_options(config, Split::kTrain);
    options.broken = BrokenFiles::kStop;  // else all would be decoded
    options.limit = 0;
    try {
        const OpenedSource opened = open_source(options);
        return opened.source->info().origin == "synthetic" ? 0 : opened.source->num_samples();
    } catch (const Error&) {
        return 0;
    }
}

Known usual(const RunConfig& config, std::vector<std::string>& notes) {
    switch (config.data.type) {
        case DataType::kIdx: {
            const Known header = idx_header(config.data.path);
            if (header.height > 0) return header;
            notes.push_back("no readable IDX files in " + config.data.path +
                            ": 60000 images of 28x28x1 are assumed");
            return {60000, 28, 28, 1};
        }
        case DataType::kCifar10:
            return {50000, 32, 32, 3};
        case DataType::kImageFolder:
        case DataType::kShards: {
            if (const std::int64_t samples = num_pictures(config); samples > 0) return {samples, 224, 224, 3};
            if (config.model.num_classes != 1000) return {0, 224, 224, 3};
            notes.push_back("an epoch of ImageNet is assumed: 1281167 images");
            return {1281167, 224, 224, 3};
        }
        default:
            return {config.data.num_samples, 0, 0, 3};
    }
}

std::int64_t vocabulary_of(const RunConfig& config, std::vector<std::string>& notes) {
    constexpr std::int64_t kBytes = 256, kGpt2 = 50257, kCharacters = 128;
    if (config.model.vocabulary_size) return *config.model.vocabulary_size;
    const TokenizerType otherwise = config.data.type == DataType::kTokens     ? TokenizerType::kGpt2
                                    : config.data.type == DataType::kParallel ? TokenizerType::kSentencePiece
                                                                              : TokenizerType::kCharacters;
    switch (config.data.tokenizer.value_or(otherwise)) {
        case TokenizerType::kBytes:
            return kBytes;
        case TokenizerType::kGpt2:
            return kGpt2;
        case TokenizerType::kSentencePiece:
            return config.data.sentencepiece_size;
        case TokenizerType::kCharacters:
            break;
    }
    notes.push_back("a vocabulary of " + std::to_string(kCharacters) +
                    " characters is assumed; model.vocabulary_size says another");
    return kCharacters;
}

// Windows of a GPT, sentence pairs of a Transformer: all as long as the longest.
void describe_text(const RunConfig& config, DescribedData& out) {
    constexpr std::int64_t kPairLength = 32;
    DataDescription& data = out.data;
    data.vocabulary = vocabulary_of(config, out.notes);
    if (config.model.type == ModelType::kTransformer) {
        const std::int64_t length = config.data.sequence_length.value_or(kPairLength);
        const std::int64_t tokens = config.train.batch_tokens / config.train.accumulate;
        data.micro_batch = {std::max<std::int64_t>(1, tokens / length), length, length};
        out.notes.push_back("sentences of " + std::to_string(length) +
                            " tokens, none of them padding, are assumed");
    } else {
        const std::int64_t length = config.data.sequence_length.value_or(config.model.context);
        data.micro_batch = {config.train.micro_batch(), length, 0};
    }
    out.sample = "tokens";
    out.items_per_sample = data.micro_batch.length;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(config.data.path, error);
    if (config.data.type == DataType::kText && !error && data.vocabulary <= 256)
        out.train_samples =
            static_cast<std::int64_t>(static_cast<double>(bytes) * (1 - config.data.validation_fraction)) /
            data.micro_batch.length;
}

void describe_images(const RunConfig& config, DescribedData& out) {
    const Known known = usual(config, out.notes);
    const ImageGeometry asked = source_options(config, Split::kTrain).geometry;
    DataDescription& data = out.data;
    data.height = asked.height > 0 ? asked.height : known.height;
    data.width = asked.width > 0 ? asked.width : known.width;
    data.channels = asked.channels > 0 ? asked.channels : known.channels;
    data.num_classes = config.model.num_classes;
    data.micro_batch = {config.train.micro_batch(), 0, 0};
    out.train_samples = known.samples;
    if (config.data.train_limit && known.samples > 0)
        out.train_samples = std::min(known.samples, *config.data.train_limit);
}

}  // namespace

DescribedData describe_data(const RunConfig& config) {
    DescribedData out;
    if (config.model.is_text())
        describe_text(config, out);
    else
        describe_images(config, out);
    DataDescription& data = out.data;
    const std::int64_t rows = data.micro_batch.rows * config.train.accumulate;
    data.updates_per_epoch = std::max<std::int64_t>(1, out.train_samples / rows);
    data.total_updates =
        config.train.steps.value_or(config.train.epochs.value_or(1) * data.updates_per_epoch);
    return out;
}

}  // namespace mpt

// Trained models of text, opened for use: a checkpoint, its config and its tokenizers.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "generate/gpt_generator.h"
#include "generate/translator.h"
#include "train/run_data.h"

namespace mpt {

struct TextModel {
    std::filesystem::path checkpoint;  // its folder, or a safetensors file
    std::vector<std::string> notices;  // on damaged ones that it was taken for
    RunConfig config;
    RunTokenizers tokenizers;     // source: of an encoder-decoder
    std::int64_t vocabulary = 0;  // true count
};

struct TextModelRequest {
    std::string checkpoint;  // as for find_checkpoint
    std::string config;      // empty: the checkpoint's
    std::vector<std::string> overrides;
    ModelType type = ModelType::kGpt;
};

// Throws Error(kUsage), Error(kCheckpoint), also where the model is of another type, Error(kData).
TextModel open_text_model(const TextModelRequest& request);

// The moving average of the weights where there is one.
std::unique_ptr<GptGenerator> load_generator(const TextModel& model, std::int64_t drop);
std::unique_ptr<Translator> load_translator(const TextModel& model);

TranslatorOptions translator_options(const RunConfig& config, std::int64_t vocabulary,
                                     const Tokenizer& tokenizer);
// A line as a source sentence; of one that is far too long only the beginning is looked at. Throws
// Error(kData) where it is not UTF-8.
TokenIds encode_source(const Tokenizer& tokenizer, std::string_view line, std::int64_t context);
// Tokens as a line of text.
std::string decode_line(const Tokenizer& tokenizer, std::span<const TokenId> tokens);

}  // namespace mpt

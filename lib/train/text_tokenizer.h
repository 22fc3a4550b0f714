// The tokenizer that a config asks for.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "config/run_config.h"
#include "dataset/text/tokenizer.h"

namespace mpt {

TokenizerType tokenizer_type(const DataConfig& data);  // the one meant by auto

// For one text: characters come from the whole of it, validation included; SentencePiece learns from the
// training part. Throws Error(kUsage) where tokenizer_path is needed and missing. `origin` names the text.
std::shared_ptr<const Tokenizer> open_text_tokenizer(const DataConfig& data, std::string_view whole,
                                                     std::string_view training, const std::string& origin);
// For sentence pairs: one vocabulary for both sides, learned from both.
std::shared_ptr<const Tokenizer> open_pair_tokenizer(const DataConfig& data,
                                                     std::span<const std::string> training_lines,
                                                     const std::string& origin);
// For token files: only to show text; null without tokenizer_path.
std::shared_ptr<const Tokenizer> open_token_file_tokenizer(const DataConfig& data);

// The one that a checkpoint's directory holds, or null. Throws Error(kCheckpoint) when it cannot be read.
std::shared_ptr<const Tokenizer> tokenizer_of_checkpoint(const std::string& checkpoint);

// model.vocabulary_size, or what the tokenizer has. Throws Error(kUsage) when the tokenizer has more.
std::int64_t vocabulary_of(const ModelConfig& model, const Tokenizer* tokenizer, std::int64_t otherwise);

// Code points of UTF-8 text.
std::int64_t num_characters(std::string_view text);

}  // namespace mpt

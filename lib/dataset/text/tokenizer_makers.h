// Tokenizers from the contents of their files; `origin` names the file in messages. Throw Error(kData).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataset/text/tokenizer.h"

namespace mpt {

constexpr const char* kTokenizerFileName = "tokenizer.json";
constexpr const char* kGpt2EncoderName = "encoder.json";
constexpr const char* kGpt2MergesName = "vocab.bpe";
constexpr const char* kSentencePieceName = "sentencepiece.model";

std::unique_ptr<Tokenizer> character_tokenizer_from(const nlohmann::json& description,
                                                    const std::string& origin);
std::unique_ptr<Tokenizer> sentencepiece_tokenizer_from(std::string model, const std::string& origin);

// The whole of a file, unpacked if it is gzip.
std::string file_bytes(const std::string& path);

}  // namespace mpt

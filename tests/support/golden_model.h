// The models of tests/golden/torch_{gpt,transformer}.json: their configurations, inputs and weights.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "models/gpt/gpt.h"
#include "models/transformer/transformer.h"
#include "support/golden.h"
#include "train/safetensors.h"

namespace mpt::test {

// A number in (-1, 1) for element `index` of the tensor `name`; scripts/golden has the same function.
inline float golden_number(const std::string& name, std::int64_t index) {
    std::uint32_t h = 17;
    for (const char c : name) h = h * 31 + static_cast<std::uint32_t>(static_cast<unsigned char>(c));
    std::uint32_t x = static_cast<std::uint32_t>(index) * 2654435761u + h * 40503u + 1;
    x = (x ^ (x >> 15)) * 2246822519u;
    x = (x ^ (x >> 13)) * 3266489917u;
    x ^= x >> 16;
    return static_cast<float>(static_cast<std::int64_t>(x >> 8) * 2 - (1 << 24) + 1) * 0x1p-24f;
}

// The weights of golden models: products of that number, gains around 1.
inline float golden_weight(const std::string& name, std::int64_t index) {
    const float x = golden_number(name, index);
    const bool gain = name.find("ln_") != std::string::npos || name.find("norm") != std::string::npos;
    return gain && name.ends_with(".weight") ? 1 + 0.25f * x : 0.25f * x;
}

using Json = nlohmann::json;

inline Activation activation_of(const std::string& word) {
    if (word == "relu") return Activation::kRelu;
    if (word == "gelu") return Activation::kGelu;
    if (word == "gelu_tanh") return Activation::kGeluTanh;
    MPT_CHECK(word == "swiglu", word);
    return Activation::kSwiglu;
}

inline GptConfig gpt_config(const Json& c) {
    GptConfig config;
    config.depth = c["depth"];
    config.width = c["width"];
    config.heads = c["heads"];
    config.vocabulary = c["vocabulary"];
    config.context = c["context"];
    config.positions = c["positions"] == "rotary" ? Positions::kRotary : Positions::kLearned;
    config.norm = c["norm"] == "rms_norm" ? NormKind::kRmsNorm : NormKind::kLayerNorm;
    config.activation = activation_of(c["activation"]);
    config.bias = c["bias"];
    config.tied_embeddings = c["tied"];
    return config;
}

inline TransformerConfig transformer_config(const Json& c) {
    TransformerConfig config;
    config.encoder_depth = c["encoder_depth"];
    config.decoder_depth = c["decoder_depth"];
    config.width = c["width"];
    config.heads = c["heads"];
    config.ffn_width = c["ffn_width"];
    config.source_vocabulary = c["source_vocabulary"];
    config.target_vocabulary = c["target_vocabulary"];
    config.shared_embeddings = c["shared"];
    config.tied_output = c["tied"];
    config.pre_norm = c["pre_norm"];
    config.final_norm = c["final_norm"];
    config.activation = activation_of(c["activation"]);
    return config;
}

inline Shape shape_of(const Json& rows) {
    return {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())};
}
inline std::vector<std::int32_t> flat(const Json& rows) {
    std::vector<std::int32_t> all;
    for (const Json& row : rows)
        for (const Json& value : row) all.push_back(value);
    return all;
}

// A file of the case's weights, each name with `prefix`, and what else such files hold.
inline void write_golden_weights(const std::filesystem::path& path, const Json& shapes,
                                 const std::string& prefix,
                                 const std::vector<std::pair<std::string, Shape>>& others = {}) {
    SafetensorsWriter writer(path);
    std::vector<std::vector<float>> all;
    for (const auto& [name, dims] : shapes.items()) {
        const Shape shape(dims.get<std::vector<std::int64_t>>());
        writer.declare(prefix + name, FileType::F32, shape);
        std::vector<float>& values = all.emplace_back();
        for (std::int64_t i = 0; i < shape.num_elements(); ++i) values.push_back(golden_weight(name, i));
    }
    for (const auto& [name, shape] : others) {
        writer.declare(prefix + name, FileType::F32, shape);
        all.emplace_back(static_cast<std::size_t>(shape.num_elements()), 1.0f);
    }
    for (const std::vector<float>& values : all) writer.write(std::as_bytes(std::span(values)));
    writer.finish();
}

}  // namespace mpt::test

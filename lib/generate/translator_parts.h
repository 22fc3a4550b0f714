// The two halves of a Translator: sources in groups through the encoder, hypotheses through the decoder.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "generate/translator.h"

namespace mpt {

class Translator::Encoder {
  public:
    Encoder(const TranslatorOptions& options, InferenceWeights& weights)
        : options_(options), weights_(weights) {}

    // Sources without the end, the longest first, at most `rows` of them.
    void encode(std::span<const std::span<const TokenId>> sources, std::int64_t rows);
    // Of sentence `row` of the last group, the end included.
    std::int64_t length(std::size_t row) const { return lengths_[row]; }
    // Keys and values [length, 2, H, D] that decoder layer `layer` looks at.
    std::span<const float> cross(std::int64_t layer, std::size_t row) const;

  private:
    struct Extent {
        std::int64_t rows = 0, length = 0;
        auto operator<=>(const Extent&) const = default;
    };

    const TranslatorOptions& options_;
    InferenceWeights& weights_;
    std::map<Extent, std::unique_ptr<InferencePlan>> plans_;
    Extent extent_;  // of the last group
    std::vector<std::int64_t> lengths_;
};

class Translator::Decoder {
  public:
    Decoder(const TranslatorOptions& options, InferenceWeights& weights, const DecoderExtent& extent);

    const DecoderExtent& extent() const { return extent_; }
    bool covers(const DecoderExtent& wanted) const {
        return extent_.places == wanted.places && extent_.source >= wanted.source &&
               extent_.capacity >= wanted.capacity;
    }
    // Bytes of caches and other inputs of a sentence.
    static std::int64_t bytes_a_place(const TranslatorOptions& options, const DecoderExtent& extent);

    bool is_free(std::int64_t place) const { return places_[static_cast<std::size_t>(place)] == nullptr; }
    // Row `row` of the encoder's last group; at most `limit` tokens.
    void admit(std::int64_t place, const Encoder& encoder, std::size_t row, std::int64_t limit);
    // One token for every sentence.
    void step();
    bool finished(std::int64_t place) const { return places_[static_cast<std::size_t>(place)]->finished(); }
    Hypothesis release(std::int64_t place);
    void release_all();

  private:
    void follow_parents(std::int64_t place, std::int64_t length);

    const TranslatorOptions& options_;
    DecoderExtent extent_;
    InferencePlan plan_;
    std::vector<std::unique_ptr<BeamSearch>> places_;  // null: free
    std::span<TokenId> tokens_;
    std::span<std::int32_t> positions_, source_lengths_;
    std::vector<std::span<float>> cross_, caches_;  // a layer each
    std::span<const float> log_probabilities_;
    std::span<const std::int32_t> top_tokens_;
};

}  // namespace mpt

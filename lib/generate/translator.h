// Translates sentences with an encoder-decoder by greedy or beam search, many at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataset/text/pair_batches.h"
#include "generate/beam_search.h"
#include "generate/inference.h"
#include "models/transformer/transformer.h"

namespace mpt {

struct TranslatorOptions {
    TransformerConfig model;
    PairSpecials specials;
    std::int64_t context = 256;  // longest source and target, with end or begin
    std::int64_t beam = 1;
    double length_penalty = 0.6;
    std::int64_t batch = 64;  // sentences at a time, less where they need too much memory
    std::int64_t memory_bytes = std::int64_t{1} << 29;  // for the caches of keys and values
    InferenceOptions run;
};

// A target is at most so much longer than its source, as in Vaswani et al. (2017).
inline constexpr std::int64_t kTargetSurplus = 50;

struct DecoderExtent {
    std::int64_t places = 1;    // sentences
    std::int64_t source = 0;    // longest, the end included
    std::int64_t capacity = 0;  // positions in a cache
};

// Sentences take a place in the batch as soon as another's translation is complete, so that a long one keeps
// nobody waiting. The result is a function of sources, options and weights alone.
class Translator {
  public:
    // Weights are zero until they are loaded or copied.
    explicit Translator(const TranslatorOptions& options);
    ~Translator();

    InferenceWeights& weights() { return weights_; }
    const InferenceWeights& weights() const { return weights_; }
    // Called after each step with the number of sentences done; false stops.
    using Progress = std::function<bool(std::int64_t done)>;
    // Of sources without specials, in their order; a source longer than the context is cut, an empty one has
    // an empty translation. Empty when stopped.
    std::optional<std::vector<Hypothesis>> translate(std::span<const TokenIds> sources,
                                                     const Progress& progress = {});
    // What translate() will take beside the weights, but for what one step computes with.
    std::int64_t working_bytes(std::span<const TokenIds> sources) const;

  private:
    class Encoder;
    class Decoder;
    class Job;

    std::int64_t limit_for(std::int64_t source_length) const;
    void choose_places(DecoderExtent& extent, std::int64_t num_sentences) const;
    DecoderExtent extent_for(std::int64_t num_sentences, std::int64_t longest) const;
    Decoder& decoder_for(std::int64_t num_sentences, std::int64_t longest);

    TranslatorOptions options_;
    InferenceWeights weights_;
    std::unique_ptr<Encoder> encoder_;
    std::unique_ptr<Decoder> decoder_;  // the last one; others may need another shape
};

}  // namespace mpt

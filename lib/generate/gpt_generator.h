// A GPT that goes on with one sequence: the prompt is read in pieces of many tokens, then token by token
// against caches of keys and values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataset/text/tokenizer.h"
#include "generate/inference.h"
#include "models/gpt/gpt.h"

namespace mpt {

// What happens when a sequence is as long as the context: the oldest tokens are dropped and the rest is read
// again, as its positions have changed.
struct GptGeneratorOptions {
    GptConfig model;
    std::int64_t drop = 1;  // tokens at a time; 1: the last `context` tokens are always seen, as in nanoGPT
    InferenceOptions run;
};

class GptGenerator {
  public:
    // Weights are zero until they are loaded or copied.
    explicit GptGenerator(const GptGeneratorOptions& options);

    InferenceWeights& weights() { return weights_; }
    // Logits of the token that follows, of the true vocabulary; valid until the next call. Of a prompt that
    // is longer than the context the last tokens count; at least one token.
    std::span<const float> start(std::span<const TokenId> prompt);
    std::span<const float> next(TokenId token);

  private:
    std::span<const float> read_window();
    void run_piece(std::int64_t first);
    void move_caches();
    std::span<const float> logits_of(const InferencePlan& plan, std::int64_t row) const;

    GptGeneratorOptions options_;
    std::int64_t piece_;  // tokens of a prompt at once
    InferenceWeights weights_;
    std::unique_ptr<InferencePlan> read_, step_;
    std::vector<TokenId> window_;  // what is seen: at most `context` tokens
};

}  // namespace mpt

// Chooses the next token from a model's logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataset/text/tokenizer.h"

namespace mpt {

struct SamplingOptions {
    double temperature = 0.8;  // 0: always the most likely token, the lower id of equal ones
    std::int64_t top_k = 200;  // only among the k most likely, and what equals the last of them; 0: among all
    std::uint64_t seed = 1;
};

class Sampler {
  public:
    explicit Sampler(const SamplingOptions& options) : options_(options) {}

    // Draw number `draw` is a function of seed, draw and logits alone. Throws Error(kDivergence) when the
    // logits are not finite.
    TokenId choose(std::span<const float> logits, std::int64_t draw);

  private:
    SamplingOptions options_;
    std::vector<float> sorted_;
    std::vector<double> weights_;
};

}  // namespace mpt

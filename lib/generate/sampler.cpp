#include "generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/philox.h"

namespace mpt {

TokenId Sampler::choose(std::span<const float> logits, std::int64_t draw) {
    if (!std::ranges::all_of(logits, [](float z) { return std::isfinite(z); }))
        throw Error(ExitCode::kDivergence,
                    "the model's output is not finite; its weights have grown too large to be of use");
    const auto greatest = std::ranges::max_element(logits);
    if (options_.temperature == 0) return static_cast<TokenId>(greatest - logits.begin());

    float least = -std::numeric_limits<float>::infinity();
    if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < logits.size()) {
        sorted_.assign(logits.begin(), logits.end());
        const auto last = sorted_.begin() + (options_.top_k - 1);
        std::ranges::nth_element(sorted_, last, std::greater<>{});
        least = *last;
    }
    weights_.resize(logits.size());
    std::ranges::transform(logits, weights_.begin(), [&](float z) {
        return z < least ? 0 : std::exp(static_cast<double>(z - *greatest) / options_.temperature);
    });
    const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    RandomStream random(options_.seed, RandomPurpose::kSample, static_cast<std::uint64_t>(draw));
    double left = total * static_cast<double>(random.next_u64() >> 11) * 0x1p-53;
    // Rounding may leave a rest behind the last token that can be drawn: that one takes it.
    TokenId chosen = static_cast<TokenId>(greatest - logits.begin());
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        if (weights_[i] == 0) continue;
        chosen = static_cast<TokenId>(i);
        left -= weights_[i];
        if (left < 0) break;
    }
    return chosen;
}

}  // namespace mpt

// Models with drawn weights for tests of lib/generate: every parameter normal, gains around 1.
#pragma once

#include "core/philox.h"
#include "generate/inference.h"
#include "models/gpt/gpt.h"
#include "models/transformer/transformer.h"

namespace mpt::test {

inline void draw_weights(const InferenceWeights& weights, std::uint64_t seed, float deviation = 0.3f) {
    for (std::size_t v = 0; v < weights.table().all().size(); ++v) {
        const Variable& variable = weights.table().all()[v];
        auto* to = reinterpret_cast<float*>(weights.masters()) + variable.offset;
        RandomStream random(seed, RandomPurpose::kInit, v);
        const float around = variable.role == Role::kNormGain ? 1.0f : 0.0f;
        for (std::int64_t i = 0; i < variable.num_elements(); ++i)
            to[i] = around + deviation * random.normal();
    }
}

inline TokenIds drawn_tokens(std::size_t count, TokenId first, TokenId vocabulary, std::uint64_t seed) {
    TokenIds ids(count);
    RandomStream random(seed, RandomPurpose::kSynthetic, 1);
    for (TokenId& id : ids)
        id = first + static_cast<TokenId>(random.below(static_cast<std::uint64_t>(vocabulary - first)));
    return ids;
}

}  // namespace mpt::test

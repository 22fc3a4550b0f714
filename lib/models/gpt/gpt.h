// Decoder-only Transformers in the manner of GPT-2 (Radford et al. 2019), with the names that Hugging Face
// gives its weights: wte, wpe, h.<i>.{ln_1, attn.c_attn, attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj}, ln_f, and
// lm_head where the output matrix is one of its own. swiglu adds mlp.c_gate; rotary positions have no wpe.
#pragma once

#include <cstdint>

#include "graph/builder.h"
#include "layers/feed_forward.h"
#include "layers/norm_layer.h"

namespace mpt {

enum class Positions : std::uint8_t { kLearned, kRotary };

struct GptConfig {
    std::int64_t depth = 12, width = 768, heads = 12;
    std::int64_t vocabulary = 50257;  // padded inside, see layers/vocabulary.h
    std::int64_t context = 1024;      // the longest sequence; rows of wpe
    std::int64_t ffn_width = 0;       // 0: default_feed_forward_width
    Positions positions = Positions::kLearned;
    NormKind norm = NormKind::kLayerNorm;
    double norm_epsilon = 1e-5;
    Activation activation = Activation::kGeluTanh;
    bool bias = true;             // in products and layer norms
    bool tied_embeddings = true;  // the output matrix is wte
    double dropout = 0;           // of embeddings, attention's probabilities and what each branch adds
    std::uint64_t seed = 0;       // of dropout
    bool training = false;        // dropout only then
};

struct GptInputs {
    ValueId tokens;        // i32 [B,T], T <= context
    ValueId step = kNone;  // i32 [], of micro-steps; needed for dropout
};

// -> logits [B*T, padded vocabulary]. Initialisers are GPT-2's: normal 0.02, products that end a branch
// smaller by sqrt(2 depth); biases 0. Block i of the graph is layer i. Throws Error(kUsage) for sizes that do
// not fit together.
ValueId gpt(GraphBuilder& builder, const GptInputs& inputs, const GptConfig& config);

}  // namespace mpt

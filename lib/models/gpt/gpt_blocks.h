// What a GPT does whether it sees a whole sequence or goes on with one: everything but positions and
// attention.
#pragma once

#include <functional>

#include "layers/dropout_layer.h"
#include "models/gpt/gpt.h"

namespace mpt {

// Throws Error(kUsage) naming the key of the model that does not fit.
void check(const GptConfig& config);

class GptBlocks {
  public:
    // x[B*T,C], the packed layer's parameters ([3C,C]: queries, keys, values), the layer's index -> [B*T,C].
    using Attend = std::function<ValueId(ValueId x, const LinearParameters& qkv, std::int64_t layer)>;

    GptBlocks(GraphBuilder& builder, const GptConfig& config, ValueId step);

    ValueId token_table() const { return token_table_; }  // wte [padded V, C]
    ValueId position_table();                             // wpe [context, C]
    ValueId logits(ValueId x, const Attend& attend);      // x[B*T,C], embedded -> [B*T, padded V]
    DropoutLayer& dropout() { return dropout_; }

  private:
    LinearConfig linear(std::int64_t out_features, double deviation) const;
    ValueId block(ValueId x, const Attend& attend, std::int64_t layer);

    GraphBuilder& builder_;
    GptConfig config_;
    NormConfig norm_;
    DropoutLayer dropout_;
    ValueId token_table_;
};

}  // namespace mpt

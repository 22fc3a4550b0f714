// What an encoder-decoder does whether the target is there as a whole or comes token by token: everything but
// attention.
#pragma once

#include <functional>
#include <string>

#include "layers/dropout_layer.h"
#include "models/transformer/transformer.h"

namespace mpt {

// Throws Error(kUsage) naming the key of the model that does not fit.
void check(const TransformerConfig& config);

class TransformerLayers {
  public:
    // x[B*T,C], in_proj ([3C,C]: queries, keys, values), the layer's index -> [B*T,C].
    using Attend = std::function<ValueId(ValueId x, const LinearParameters& in_proj, std::int64_t layer)>;

    TransformerLayers(GraphBuilder& builder, const TransformerConfig& config, ValueId step);

    // Tokens [B,T] -> [B*T,C] with positions, which start at `position` i32 [B] (kNone: 0).
    ValueId embed_source(ValueId tokens);
    ValueId embed_target(ValueId tokens, ValueId position = kNone);
    ValueId encode(ValueId x, const Attend& self);                       // -> memory [B*S,C]
    ValueId decode(ValueId x, const Attend& self, const Attend& cross);  // -> logits [B*T, padded V]
    // in_proj of decoder layer `layer`'s attention to the source.
    LinearParameters cross_in_proj(std::int64_t layer);
    DropoutLayer& attention_dropout() { return attention_dropout_; }

  private:
    LinearConfig linear(std::int64_t in_features, std::int64_t out_features) const;
    ValueId table(bool of_source);
    ValueId embed(ValueId tokens, ValueId position, bool of_source);
    LinearParameters in_proj();
    ValueId attention_layer(ValueId x, const Attend& attend, std::int64_t layer, const std::string& name);
    ValueId feed_forward_layer(ValueId x);
    ValueId sub_layer(ValueId x, const std::string& norm, const std::function<ValueId(ValueId)>& function);
    ValueId final_norm(ValueId x, const std::string& name);

    GraphBuilder& builder_;
    TransformerConfig config_;
    DropoutLayer dropout_, attention_dropout_, activation_dropout_;
};

}  // namespace mpt

#include "models/transformer/transformer_layers.h"

#include <cmath>

#include "core/error.h"
#include "layers/norm_layer.h"
#include "layers/vocabulary.h"
#include "ops/add/add.h"
#include "ops/embedding/embedding.h"
#include "ops/linear/linear.h"
#include "ops/reshape/reshape.h"
#include "ops/sinusoidal_positions/sinusoidal_positions.h"

namespace mpt {

namespace {

Initializer xavier(std::int64_t fan_in, std::int64_t fan_out) {
    return {Initializer::Kind::kUniform,
            static_cast<float>(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)))};
}

[[noreturn]] void refuse(const std::string& text) {
    throw Error(ExitCode::kUsage, "model." + text);
}

}  // namespace

void check(const TransformerConfig& c) {
    if (c.encoder_depth < 1 || c.decoder_depth < 1)
        refuse("depth: an encoder-decoder needs at least one layer on each side");
    if (c.heads < 1 || c.width < 1 || c.width % c.heads != 0)
        refuse("heads: " + std::to_string(c.heads) + " heads do not divide a width of " +
               std::to_string(c.width));
    if (c.width % 2 != 0) refuse("width: sinusoidal positions need an even one");
    if (c.source_vocabulary < 1 || c.target_vocabulary < 1) refuse("vocabulary must be at least 1");
    if (c.shared_embeddings && c.source_vocabulary != c.target_vocabulary)
        refuse("shared_embeddings: source and target have vocabularies of different sizes, " +
               std::to_string(c.source_vocabulary) + " and " + std::to_string(c.target_vocabulary));
    if (c.activation == Activation::kSwiglu) refuse("activation: an encoder-decoder has relu or gelu");
}

TransformerLayers::TransformerLayers(GraphBuilder& builder, const TransformerConfig& config, ValueId step)
    : builder_(builder),
      config_(config),
      dropout_(builder, config.training ? config.dropout : 0, config.seed, step),
      attention_dropout_(dropout_.with(config.training ? config.attention_dropout : 0)),
      activation_dropout_(dropout_.with(config.training ? config.activation_dropout : 0)) {
    if (config_.ffn_width == 0) config_.ffn_width = 4 * config.width;
}

LinearConfig TransformerLayers::linear(std::int64_t in_features, std::int64_t out_features) const {
    return {out_features, xavier(in_features, out_features)};
}

ValueId TransformerLayers::table(bool of_source) {
    const auto deviation = static_cast<float>(1 / std::sqrt(static_cast<double>(config_.width)));
    const std::string name = config_.shared_embeddings ? "embedding"
                             : of_source               ? "source_embedding"
                                                       : "target_embedding";
    return vocabulary_table(builder_, of_source ? config_.source_vocabulary : config_.target_vocabulary,
                            config_.width, {Initializer::Kind::kNormal, deviation}, name);
}

ValueId TransformerLayers::embed(ValueId tokens, ValueId position, bool of_source) {
    const std::string name = of_source ? "source" : "target";
    ValueId x = embedding(builder_, tokens, table(of_source), {}, name + ".embedding");
    x = sinusoidal_positions(builder_, x, position, {std::sqrt(static_cast<double>(config_.width))},
                             name + ".positions");
    x = dropout_(x, name + ".dropout");
    const Shape shape = builder_.type(x).shape;
    return reshape(builder_, x, {shape[0] * shape[1], shape[2]}, name + ".rows");
}

ValueId TransformerLayers::embed_source(ValueId tokens) {
    return embed(tokens, kNone, true);
}

ValueId TransformerLayers::embed_target(ValueId tokens, ValueId position) {
    return embed(tokens, position, false);
}

LinearParameters TransformerLayers::in_proj() {
    const std::int64_t width = config_.width;
    return {builder_.parameter("in_proj_weight", {3 * width, width}, Role::kMatrix, xavier(width, 3 * width)),
            builder_.parameter("in_proj_bias", {3 * width}, Role::kBias, {})};
}

LinearParameters TransformerLayers::cross_in_proj(std::int64_t layer) {
    const GraphBuilder::Scope scope(builder_, "decoder.layers." + std::to_string(layer) + ".multihead_attn");
    return in_proj();
}

ValueId TransformerLayers::sub_layer(ValueId x, const std::string& norm,
                                     const std::function<ValueId(ValueId)>& function) {
    const NormConfig config{NormKind::kLayerNorm, config_.norm_epsilon};
    const ValueId y = function(config_.pre_norm ? norm_layer(builder_, x, config, norm) : x);
    const ValueId sum = add(builder_, x, dropout_(y, norm + ".dropout"), norm + ".residual");
    return config_.pre_norm ? sum : norm_layer(builder_, sum, config, norm);
}

ValueId TransformerLayers::attention_layer(ValueId x, const Attend& attend, std::int64_t layer,
                                           const std::string& name) {
    const GraphBuilder::Scope scope(builder_, name);
    const ValueId o = attend(x, in_proj(), layer);
    return linear_layer(builder_, o, linear(config_.width, config_.width), "out_proj");
}

ValueId TransformerLayers::feed_forward_layer(ValueId x) {
    const std::int64_t width = config_.width, inner = config_.ffn_width;
    return feed_forward(
        builder_, x,
        {config_.activation, linear(width, inner), linear(inner, width), "linear1", "", "linear2"},
        activation_dropout_);
}

ValueId TransformerLayers::final_norm(ValueId x, const std::string& name) {
    if (!config_.pre_norm && !config_.final_norm) return x;
    return norm_layer(builder_, x, {NormKind::kLayerNorm, config_.norm_epsilon}, name);
}

ValueId TransformerLayers::encode(ValueId x, const Attend& self) {
    for (std::int64_t layer = 0; layer < config_.encoder_depth; ++layer) {
        const GraphBuilder::Scope scope(builder_, "encoder.layers." + std::to_string(layer));
        builder_.set_block(static_cast<int>(layer));
        x = sub_layer(x, "norm1", [&](ValueId y) { return attention_layer(y, self, layer, "self_attn"); });
        x = sub_layer(x, "norm2", [&](ValueId y) { return feed_forward_layer(y); });
        builder_.set_block(kNone);
    }
    return final_norm(x, "encoder.norm");
}

ValueId TransformerLayers::decode(ValueId x, const Attend& self, const Attend& cross) {
    for (std::int64_t layer = 0; layer < config_.decoder_depth; ++layer) {
        const GraphBuilder::Scope scope(builder_, "decoder.layers." + std::to_string(layer));
        builder_.set_block(static_cast<int>(config_.encoder_depth + layer));
        x = sub_layer(x, "norm1", [&](ValueId y) { return attention_layer(y, self, layer, "self_attn"); });
        x = sub_layer(x, "norm2",
                      [&](ValueId y) { return attention_layer(y, cross, layer, "multihead_attn"); });
        x = sub_layer(x, "norm3", [&](ValueId y) { return feed_forward_layer(y); });
        builder_.set_block(kNone);
    }
    x = final_norm(x, "decoder.norm");
    const std::int64_t vocabulary = config_.target_vocabulary;
    const ValueId matrix = config_.tied_output
                               ? table(false)
                               : vocabulary_table(builder_, vocabulary, config_.width,
                                                  xavier(config_.width, vocabulary), "output");
    return mpt::linear(builder_, x, matrix, kNone, "output");
}

}  // namespace mpt

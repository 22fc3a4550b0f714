#include "models/gpt/gpt_blocks.h"

#include <cmath>

#include "core/error.h"
#include "layers/vocabulary.h"
#include "ops/add/add.h"
#include "ops/linear/linear.h"

namespace mpt {

namespace {

constexpr double kDeviation = 0.02;

Initializer normal(double deviation) {
    return {Initializer::Kind::kNormal, static_cast<float>(deviation)};
}

[[noreturn]] void refuse(const std::string& text) {
    throw Error(ExitCode::kUsage, "model." + text);
}

}  // namespace

void check(const GptConfig& c) {
    if (c.depth < 1) refuse("depth: a GPT needs at least one layer");
    if (c.heads < 1 || c.width < 1 || c.width % c.heads != 0)
        refuse("heads: " + std::to_string(c.heads) + " heads do not divide a width of " +
               std::to_string(c.width));
    if (c.positions == Positions::kRotary && c.width / c.heads % 2 != 0)
        refuse("positions: rotary needs heads of an even size, not " + std::to_string(c.width / c.heads));
    if (c.vocabulary < 1 || c.context < 1) refuse("vocabulary and context must be at least 1");
}

GptBlocks::GptBlocks(GraphBuilder& builder, const GptConfig& config, ValueId step)
    : builder_(builder),
      config_(config),
      norm_{config.norm, config.norm_epsilon, config.bias},
      dropout_(builder, config.training ? config.dropout : 0, config.seed, step),
      token_table_(vocabulary_table(builder, config.vocabulary, config.width, normal(kDeviation), "wte")) {
    if (config_.ffn_width == 0)
        config_.ffn_width = default_feed_forward_width(config.width, config.activation);
}

ValueId GptBlocks::position_table() {
    return builder_.parameter("wpe.weight", {config_.context, config_.width}, Role::kEmbedding,
                              normal(kDeviation));
}

LinearConfig GptBlocks::linear(std::int64_t out_features, double deviation) const {
    return {out_features, normal(deviation), config_.bias, {.transposed = true}};
}

ValueId GptBlocks::block(ValueId x, const Attend& attend, std::int64_t layer) {
    const double at_end = kDeviation / std::sqrt(2.0 * static_cast<double>(config_.depth));
    {
        ValueId y = norm_layer(builder_, x, norm_, "ln_1");
        const GraphBuilder::Scope scope(builder_, "attn");
        const LinearParameters qkv =
            linear_parameters(builder_, config_.width, linear(3 * config_.width, kDeviation), "c_attn");
        y = linear_layer(builder_, attend(y, qkv, layer), linear(config_.width, at_end), "c_proj");
        x = add(builder_, x, dropout_(y), "residual");
    }
    const ValueId normed = norm_layer(builder_, x, norm_, "ln_2");
    const GraphBuilder::Scope scope(builder_, "mlp");
    const ValueId y = feed_forward(builder_, normed,
                                   {config_.activation, linear(config_.ffn_width, kDeviation),
                                    linear(config_.width, at_end), "c_fc", "c_gate", "c_proj"});
    return add(builder_, x, dropout_(y), "residual");
}

ValueId GptBlocks::logits(ValueId x, const Attend& attend) {
    for (std::int64_t layer = 0; layer < config_.depth; ++layer) {
        const GraphBuilder::Scope scope(builder_, "h." + std::to_string(layer));
        builder_.set_block(static_cast<int>(layer));
        x = block(x, attend, layer);
        builder_.set_block(kNone);
    }
    x = norm_layer(builder_, x, norm_, "ln_f");
    const ValueId table =
        config_.tied_embeddings
            ? token_table_
            : vocabulary_table(builder_, config_.vocabulary, config_.width, normal(kDeviation), "lm_head");
    return mpt::linear(builder_, x, table, kNone, "lm_head");
}

}  // namespace mpt

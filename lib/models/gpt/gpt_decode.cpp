#include "models/gpt/gpt_decode.h"

#include <string>

#include "core/error.h"
#include "models/gpt/gpt_blocks.h"
#include "ops/add/add.h"
#include "ops/cache_append/cache_append.h"
#include "ops/cached_attention/cached_attention.h"
#include "ops/embedding/embedding.h"
#include "ops/linear/linear.h"
#include "ops/reshape/reshape.h"
#include "ops/rope/rope.h"
#include "ops/token_positions/token_positions.h"

namespace mpt {

GptDecodeOutputs gpt_decode(GraphBuilder& builder, const GptDecodeInputs& inputs, const GptConfig& config) {
    check(config);
    const Shape tokens = builder.type(inputs.tokens).shape;
    MPT_CHECK(tokens.rank() == 2 && static_cast<std::int64_t>(inputs.caches.size()) == config.depth,
              "a gpt of " + std::to_string(config.depth) + " layers continues " + to_string(tokens) +
                  " with " + std::to_string(inputs.caches.size()) + " caches");
    const std::int64_t batch = tokens[0], length = tokens[1], width = config.width;
    const std::int64_t heads = config.heads, size = width / heads;

    GptConfig still = config;
    still.training = false;
    GptBlocks blocks(builder, still, kNone);
    const TokenPositionsOutputs places = token_positions(builder, inputs.position, {length});
    ValueId x = embedding(builder, inputs.tokens, blocks.token_table(), {}, "wte");
    if (config.positions == Positions::kLearned)
        x = add(builder, x, embedding(builder, places.positions, blocks.position_table(), {}, "wpe"));
    x = reshape(builder, x, {batch * length, width});

    GptDecodeOutputs outputs;
    outputs.logits = blocks.logits(x, [&](ValueId y, const LinearParameters& layer, std::int64_t index) {
        const LinearParameters of_q = layer.rows(builder, 0, width);
        const LinearParameters of_kv = layer.rows(builder, width, 2 * width);
        ValueId q = linear(builder, y, of_q.weight, of_q.bias, "c_attn.q");
        ValueId kv = linear(builder, y, of_kv.weight, of_kv.bias, "c_attn.kv");
        q = reshape(builder, q, {batch, length, heads, size});
        kv = reshape(builder, kv, {batch, length, 2, heads, size});
        if (config.positions == Positions::kRotary) {
            q = rope(builder, q, inputs.position, {}, "rope.q");
            kv = rope(builder, kv, inputs.position, {}, "rope.k");
        }
        const ValueId cache =
            cache_append(builder, inputs.caches[static_cast<std::size_t>(index)], kv, inputs.position);
        outputs.caches.push_back(cache);
        const ValueId o = cached_attention(builder, q, cache, places.lengths, "attention");
        return reshape(builder, o, {batch * length, width});
    });
    return outputs;
}

void gpt_decode_graph(GraphBuilder& builder, const DecodeExtent& extent, const GptConfig& config) {
    check(config);
    GptDecodeInputs inputs;
    inputs.tokens = builder.input("tokens", {{extent.batch, extent.tokens}, DType::i32});
    inputs.position = builder.input("position", {{extent.batch}, DType::i32});
    const Shape cache = {extent.batch, extent.capacity, 2, config.heads, config.width / config.heads};
    for (std::int64_t i = 0; i < config.depth; ++i)
        inputs.caches.push_back(builder.input("cache." + std::to_string(i), {cache, DType::f32}));
    const GptDecodeOutputs outputs = gpt_decode(builder, inputs, config);
    builder.output("logits", outputs.logits);
    for (std::size_t i = 0; i < outputs.caches.size(); ++i)
        builder.output("cache." + std::to_string(i) + ".next", outputs.caches[i]);
}

}  // namespace mpt

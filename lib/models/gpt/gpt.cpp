#include "models/gpt/gpt.h"

#include "core/error.h"
#include "models/gpt/gpt_blocks.h"
#include "ops/add_rows/add_rows.h"
#include "ops/attention/attention.h"
#include "ops/embedding/embedding.h"
#include "ops/linear/linear.h"
#include "ops/reshape/reshape.h"
#include "ops/rope/rope.h"

namespace mpt {

ValueId gpt(GraphBuilder& builder, const GptInputs& inputs, const GptConfig& config) {
    check(config);
    const Shape tokens = builder.type(inputs.tokens).shape;
    MPT_CHECK(tokens.rank() == 2, "tokens " + to_string(tokens) + " of a gpt");
    const std::int64_t batch = tokens[0], length = tokens[1], width = config.width, heads = config.heads;
    if (length > config.context)
        throw Error(ExitCode::kUsage, "sequences of " + std::to_string(length) +
                                          " tokens are longer than model.context, " +
                                          std::to_string(config.context));

    GptBlocks blocks(builder, config, inputs.step);
    ValueId x = embedding(builder, inputs.tokens, blocks.token_table(), {}, "wte");
    if (config.positions == Positions::kLearned) x = add_rows(builder, x, blocks.position_table(), "wpe");
    x = blocks.dropout()(x);
    x = reshape(builder, x, {batch * length, width});
    return blocks.logits(x, [&](ValueId y, const LinearParameters& layer, std::int64_t) {
        ValueId qkv = linear(builder, y, layer.weight, layer.bias, "c_attn");
        qkv = reshape(builder, qkv, {batch, length, 3, heads, width / heads});
        if (config.positions == Positions::kRotary) qkv = rope(builder, qkv, kNone, {.parts = 2});
        const DropoutAttributes dropped = blocks.dropout().attributes();
        const ValueId o = qkv_attention(builder, {.qkv = qkv, .step = blocks.dropout().step()},
                                        {.causal = true, .dropout = dropped}, "attention")
                              .o;
        return reshape(builder, o, {batch * length, width});
    });
}

}  // namespace mpt

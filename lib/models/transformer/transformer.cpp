#include "models/transformer/transformer.h"

#include "core/error.h"
#include "models/transformer/transformer_layers.h"
#include "ops/attention/attention.h"
#include "ops/linear/linear.h"
#include "ops/reshape/reshape.h"

namespace mpt {

ValueId transformer(GraphBuilder& builder, const TransformerInputs& inputs, const TransformerConfig& config) {
    check(config);
    const Shape source = builder.type(inputs.source).shape, target = builder.type(inputs.target).shape;
    MPT_CHECK(source.rank() == 2 && target.rank() == 2 && source[0] == target[0],
              "a transformer from " + to_string(source) + " to " + to_string(target));
    const std::int64_t batch = source[0], width = config.width;
    const std::int64_t heads = config.heads, size = width / heads;

    TransformerLayers layers(builder, config, inputs.step);
    const auto attend_self = [&](std::int64_t length, ValueId lengths, AttentionAttributes attributes) {
        return [&, length, lengths, attributes](ValueId x, const LinearParameters& in_proj, std::int64_t) {
            ValueId qkv = linear(builder, x, in_proj.weight, in_proj.bias, "in_proj");
            qkv = reshape(builder, qkv, {batch, length, 3, heads, size});
            AttentionAttributes with_dropout = attributes;
            with_dropout.dropout = layers.attention_dropout().attributes();
            const ValueId o = qkv_attention(builder, {qkv, lengths, layers.attention_dropout().step()},
                                            with_dropout, "attention")
                                  .o;
            return reshape(builder, o, {batch * length, width});
        };
    };
    const ValueId memory =
        layers.encode(layers.embed_source(inputs.source), attend_self(source[1], inputs.source_lengths, {}));
    const auto attend_cross = [&](ValueId x, const LinearParameters& in_proj, std::int64_t) {
        const LinearParameters of_q = in_proj.rows(builder, 0, width);
        const LinearParameters of_kv = in_proj.rows(builder, width, 2 * width);
        ValueId q = linear(builder, x, of_q.weight, of_q.bias, "in_proj.q");
        ValueId kv = linear(builder, memory, of_kv.weight, of_kv.bias, "in_proj.kv");
        q = reshape(builder, q, {batch, target[1], heads, size});
        kv = reshape(builder, kv, {batch, source[1], 2, heads, size});
        const AttentionAttributes attributes{.dropout = layers.attention_dropout().attributes()};
        const ValueId o =
            cross_attention(builder, {q, kv, inputs.source_lengths, layers.attention_dropout().step()},
                            attributes, "attention")
                .o;
        return reshape(builder, o, {batch * target[1], width});
    };
    return layers.decode(layers.embed_target(inputs.target), attend_self(target[1], kNone, {.causal = true}),
                         attend_cross);
}

}  // namespace mpt

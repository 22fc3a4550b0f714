#include "models/transformer/transformer_decode.h"

#include <string>
#include <vector>

#include "models/transformer/transformer_layers.h"
#include "ops/attention/attention.h"
#include "ops/cache_append/cache_append.h"
#include "ops/cached_attention/cached_attention.h"
#include "ops/linear/linear.h"
#include "ops/reshape/reshape.h"
#include "ops/token_positions/token_positions.h"

namespace mpt {

namespace {

TransformerConfig without_dropout(TransformerConfig config) {
    check(config);
    config.training = false;
    return config;
}

std::string numbered(const char* name, std::int64_t layer) {
    return std::string(name) + "." + std::to_string(layer);
}

// Sizes and graph inputs of a decoding step.
struct DecodeStep {
    std::int64_t rows, length, width, heads, size, batch, source;
    ValueId tokens, position, source_lengths;
    std::vector<ValueId> cross, caches;  // one a layer

    DecodeStep(GraphBuilder& builder, const DecodeStepExtent& e, const TransformerConfig& config)
        : rows(e.batch * e.beams),
          length(e.tokens),
          width(config.width),
          heads(config.heads),
          size(width / heads),
          batch(e.batch),
          source(e.source),
          tokens(builder.input("tokens", {{rows, length}, DType::i32})),
          position(builder.input("position", {{rows}, DType::i32})),
          source_lengths(builder.input("source_lengths", {{batch}, DType::i32})) {
        for (std::int64_t i = 0; i < config.decoder_depth; ++i) {
            cross.push_back(
                builder.input(numbered("cross", i), {{batch, source, 2, heads, size}, DType::f32}));
            caches.push_back(
                builder.input(numbered("cache", i), {{rows, e.capacity, 2, heads, size}, DType::f32}));
        }
    }
};

}  // namespace

void transformer_encode_graph(GraphBuilder& builder, const EncodeExtent& extent,
                              const TransformerConfig& config) {
    TransformerLayers layers(builder, without_dropout(config), kNone);
    const std::int64_t batch = extent.batch, length = extent.source, width = config.width;
    const std::int64_t heads = config.heads, size = width / heads;
    const ValueId source = builder.input("source", {{batch, length}, DType::i32});
    const ValueId lengths = builder.input("source_lengths", {{batch}, DType::i32});
    const ValueId memory = layers.encode(
        layers.embed_source(source), [&](ValueId x, const LinearParameters& in_proj, std::int64_t) {
            ValueId qkv = linear(builder, x, in_proj.weight, in_proj.bias, "in_proj");
            qkv = reshape(builder, qkv, {batch, length, 3, heads, size});
            const ValueId o = qkv_attention(builder, {qkv, lengths}, {}, "attention").o;
            return reshape(builder, o, {batch * length, width});
        });
    for (std::int64_t i = 0; i < config.decoder_depth; ++i) {
        const LinearParameters of_kv = layers.cross_in_proj(i).rows(builder, width, 2 * width);
        const ValueId kv = linear(builder, memory, of_kv.weight, of_kv.bias, numbered("cross", i));
        builder.output(numbered("cross", i), reshape(builder, kv, {batch, length, 2, heads, size}));
    }
}

void transformer_decode_graph(GraphBuilder& builder, const DecodeStepExtent& extent,
                              const TransformerConfig& config) {
    TransformerLayers layers(builder, without_dropout(config), kNone);
    const DecodeStep s(builder, extent, config);
    const ValueId lengths = token_positions(builder, s.position, {s.length}).lengths;
    const auto self = [&](ValueId x, const LinearParameters& in_proj, std::int64_t layer) {
        const LinearParameters of_q = in_proj.rows(builder, 0, s.width);
        const LinearParameters of_kv = in_proj.rows(builder, s.width, 2 * s.width);
        ValueId q = linear(builder, x, of_q.weight, of_q.bias, "in_proj.q");
        ValueId kv = linear(builder, x, of_kv.weight, of_kv.bias, "in_proj.kv");
        q = reshape(builder, q, {s.rows, s.length, s.heads, s.size});
        kv = reshape(builder, kv, {s.rows, s.length, 2, s.heads, s.size});
        const ValueId cache =
            cache_append(builder, s.caches[static_cast<std::size_t>(layer)], kv, s.position);
        builder.output(numbered("cache", layer) + ".next", cache);
        const ValueId o = cached_attention(builder, q, cache, lengths, "attention");
        return reshape(builder, o, {s.rows * s.length, s.width});
    };
    // The hypotheses of a sentence are queries over one source.
    const auto cross = [&](ValueId x, const LinearParameters& in_proj, std::int64_t layer) {
        const LinearParameters of_q = in_proj.rows(builder, 0, s.width);
        ValueId q = linear(builder, x, of_q.weight, of_q.bias, "in_proj.q");
        q = reshape(builder, q, {s.batch, s.rows / s.batch * s.length, s.heads, s.size});
        const ValueId kv = s.cross[static_cast<std::size_t>(layer)];
        const ValueId o = cross_attention(builder, {q, kv, s.source_lengths}, {}, "attention").o;
        return reshape(builder, o, {s.rows * s.length, s.width});
    };
    builder.output("logits", layers.decode(layers.embed_target(s.tokens, s.position), self, cross));
}

}  // namespace mpt

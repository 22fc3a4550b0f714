// Tokens: a language model, an encoder-decoder, and the loss over their vocabulary.
#include "layers/token_loss.h"
#include "train/model_loss.h"

namespace mpt {
namespace {

// Random numbers of dropout hang on the micro-step.
ValueId step_input(GraphBuilder& builder, const ModelConfig& model, ModelUse use) {
    const bool drops = model.dropout > 0 || model.attention_dropout > 0 || model.activation_dropout > 0;
    return use == ModelUse::kTrain && drops ? builder.input("step", {{}, DType::i32}) : kNone;
}

double smoothing_of(const GraphContext& context, ModelUse use) {
    return use == ModelUse::kTrain ? context.config.train.label_smoothing : 0;
}

}  // namespace

ValueId gpt_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape, ModelUse use) {
    const ValueId tokens = builder.input("tokens", {{shape.rows, shape.length}, DType::i32});
    const ValueId targets = builder.input("targets", {{shape.rows * shape.length}, DType::i32});
    GptConfig config = gpt_config(context.config, context.data.vocabulary);
    config.training = use == ModelUse::kTrain;
    const GptInputs inputs{tokens, step_input(builder, context.config.model, use)};
    const ValueId logits = gpt(builder, inputs, config);
    return token_loss(builder, logits, targets, {context.data.vocabulary, smoothing_of(context, use)});
}

ValueId transformer_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape,
                         ModelUse use) {
    const ValueId source = builder.input("source", {{shape.rows, shape.source_length}, DType::i32});
    const ValueId source_lengths = builder.input("source_lengths", {{shape.rows}, DType::i32});
    const ValueId target = builder.input("target", {{shape.rows, shape.length}, DType::i32});
    const ValueId targets = builder.input("targets", {{shape.rows * shape.length}, DType::i32});
    TransformerConfig config = transformer_config(context.config, context.data.vocabulary);
    config.training = use == ModelUse::kTrain;
    const TransformerInputs inputs{source, source_lengths, target,
                                   step_input(builder, context.config.model, use)};
    const ValueId logits = transformer(builder, inputs, config);
    return token_loss(builder, logits, targets, {context.data.vocabulary, smoothing_of(context, use)});
}

}  // namespace mpt

// Keys of section model.
#include "config/key_table.h"

namespace mpt {
namespace {

const std::string kType = "model.type";

}  // namespace

std::vector<Key> model_keys() {
    const std::vector<std::string> text_models = {"gpt", "transformer"};
    return {
        choice<ModelType>(
            kType, [](auto& c) -> auto& { return c.model.type; }, "the architecture"),
        with_default(
            also_called(whole(
                            "model.depth", [](auto& c) -> auto& { return c.model.depth; }, {1, 1000},
                            "ResNet: 18, 34, 50, 101, 152 (ImageNet stem; from 50 on bottleneck v1.5) or 20, "
                            "32, 44, 56, 110 (CIFAR type); gpt and transformer: blocks"),
                        {"layers", "num_layers", "n_layer"}),
            "20 for resnet, 12 for gpt, 6 for transformer"),
        only_if(also_called(whole(
                                "model.num_classes", [](auto& c) -> auto& { return c.model.num_classes; },
                                {1, 1000000}, "classes; every label lies in 0..num_classes-1"),
                            {"classes"}),
                kType, {"resnet"}),
        only_if(on_off(
                    "model.zero_init_residual", [](auto& c) -> auto& { return c.model.zero_init_residual; },
                    "start each block's last norm gain at 0, so that blocks begin as identity"),
                kType, {"resnet"}),
        only_if(real(
                    "model.norm_momentum", [](auto& c) -> auto& { return c.model.norm_momentum; },
                    {.min = 0, .max = 1, .above_min = true},
                    "share of the new batch in batch norm's running statistics"),
                kType, {"resnet"}),
        real(
            "model.norm_epsilon", [](auto& c) -> auto& { return c.model.norm_epsilon; }, {kSmallest, 1},
            "added to the variance in norms"),
        only_if(whole(
                    "model.decoder_depth", [](auto& c) -> auto& { return c.model.decoder_depth; },
                    {.min = 1, .max = 1000, .unset_word = "auto"}, "blocks of the decoder; auto: depth"),
                kType, {"transformer"}),
        only_if(also_called(whole(
                                "model.width", [](auto& c) -> auto& { return c.model.width; }, {1, 1048576},
                                "elements of a token's vector; heads divides it"),
                            {"d_model", "n_embd", "hidden_size", "dim", "embed_dim"}),
                kType, text_models),
        only_if(also_called(whole(
                                "model.heads", [](auto& c) -> auto& { return c.model.heads; }, {1, 4096},
                                "attention heads; each has width / heads elements"),
                            {"n_head", "num_heads", "nhead"}),
                kType, text_models),
        only_if(also_called(whole(
                                "model.ffn_width", [](auto& c) -> auto& { return c.model.ffn_width; },
                                {.min = 1, .max = 4194304, .unset_word = "auto"},
                                "inside of the feed-forward part; auto: 4 width, with swiglu 8/3 width"),
                            {"d_ff", "ffn_dim", "intermediate_size"}),
                kType, text_models),
        only_if(also_called(
                    whole(
                        "model.vocabulary_size", [](auto& c) -> auto& { return c.model.vocabulary_size; },
                        {.min = 2, .max = 16777216, .unset_word = "auto"},
                        "tokens; auto: those of the tokenizer. Padded inside, true in files and in the loss"),
                    {"vocab_size", "vocab"}),
                kType, text_models),
        only_if(also_called(whole(
                                "model.context", [](auto& c) -> auto& { return c.model.context; },
                                {1, 1048576}, "longest sequence in tokens"),
                            {"block_size", "n_positions", "n_ctx", "max_length", "max_seq_len"}),
                kType, text_models),
        only_if(choice<PositionType>(
                    "model.positions", [](auto& c) -> auto& { return c.model.positions; },
                    "learned vectors added to the embedding, or rotary: queries and keys turned"),
                kType, {"gpt"}),
        only_if(choice<NormType>(
                    "model.norm", [](auto& c) -> auto& { return c.model.norm; }, "the norm of each block"),
                kType, {"gpt"}),
        only_if(choice<NormOrder>(
                    "model.norm_order", [](auto& c) -> auto& { return c.model.norm_order; },
                    "norm behind the residual sum (post, as published) or before each branch (pre)"),
                kType, {"transformer"}),
        only_if(choice<ActivationType>(
                    "model.activation", [](auto& c) -> auto& { return c.model.activation; },
                    "of the feed-forward part; auto: gelu_tanh in gpt, relu in transformer"),
                kType, text_models),
        only_if(
            on_off(
                "model.bias", [](auto& c) -> auto& { return c.model.bias; }, "biases in products and norms"),
            kType, {"gpt"}),
        only_if(on_off(
                    "model.tied_embeddings", [](auto& c) -> auto& { return c.model.tied_embeddings; },
                    "the output matrix is the embedding"),
                kType, text_models),
        only_if(real(
                    "model.dropout", [](auto& c) -> auto& { return c.model.dropout; },
                    {.min = 0, .max = 1, .below_max = true},
                    "share of embeddings and branch outputs dropped in training, in gpt of attention "
                    "weights, too"),
                kType, text_models),
        only_if(real(
                    "model.attention_dropout", [](auto& c) -> auto& { return c.model.attention_dropout; },
                    {.min = 0, .max = 1, .below_max = true},
                    "share of attention weights dropped in training; torch.nn.Transformer drops as much of "
                    "these as of the others"),
                kType, {"transformer"}),
        only_if(
            real(
                "model.activation_dropout", [](auto& c) -> auto& { return c.model.activation_dropout; },
                {.min = 0, .max = 1, .below_max = true},
                "share dropped behind the activation of the feed-forward part; torch.nn.Transformer, too"),
            kType, {"transformer"}),
    };
}

}  // namespace mpt

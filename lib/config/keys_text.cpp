// Keys of text: its files, its tokenizer, and how translations are made.
#include "config/key_table.h"

namespace mpt {

std::vector<Key> text_data_keys() {
    return {
        only_if(optional_path_key(
                    "data.validation_path", [](auto& c) -> auto& { return c.data.validation_path; },
                    "text, tokens or pairs with tabs to evaluate on, instead of a fraction of path"),
                "data.type", {"text", "tokens", "parallel"}),
        only_if(optional_path_key(
                    "data.source_path", [](auto& c) -> auto& { return c.data.source_path; },
                    "sentences to translate from, a line each; with target_path instead of path"),
                "data.type", {"parallel"}),
        only_if(optional_path_key(
                    "data.target_path", [](auto& c) -> auto& { return c.data.target_path; },
                    "their translations, line by line"),
                "data.type", {"parallel"}),
        only_if(
            optional_path_key(
                "data.validation_source_path", [](auto& c) -> auto& { return c.data.validation_source_path; },
                "sentences to evaluate on; with validation_target_path"),
            "data.type", {"parallel"}),
        only_if(
            optional_path_key(
                "data.validation_target_path", [](auto& c) -> auto& { return c.data.validation_target_path; },
                "their translations, line by line"),
            "data.type", {"parallel"}),
        only_if(real(
                    "data.validation_fraction", [](auto& c) -> auto& { return c.data.validation_fraction; },
                    {.min = 0, .max = 1, .above_min = true, .below_max = true},
                    "without validation files: the last share of a text, pairs by a hash of the source"),
                "data.type", {"text", "tokens", "parallel"}),
        only_if(choice<TokenizerType>(
                    "data.tokenizer", [](auto& c) -> auto& { return c.data.tokenizer; },
                    "auto: characters of a text, gpt2 of tokens, sentencepiece of pairs"),
                "data.type", {"text", "tokens", "parallel"}),
        only_if(optional_path_key(
                    "data.tokenizer_path", [](auto& c) -> auto& { return c.data.tokenizer_path; },
                    "gpt2: the folder of encoder.json and vocab.bpe; sentencepiece: a model, else "
                    "one is learned"),
                "data.type", {"text", "tokens", "parallel"}),
        only_if(whole(
                    "data.sentencepiece_size", [](auto& c) -> auto& { return c.data.sentencepiece_size; },
                    {16, 1000000}, "vocabulary of the SentencePiece model that is learned"),
                "data.type", {"text", "parallel"}),
        only_if(
            also_called(whole(
                            "data.sequence_length", [](auto& c) -> auto& { return c.data.sequence_length; },
                            {.min = 1, .max = 1048576, .unset_word = "auto"},
                            "tokens of a window; auto: model.context. Of synthetic pairs auto is 32"),
                        {"seq_len", "sequence_len", "seq_length"}),
            "data.type", {"text", "tokens", "parallel", "synthetic"}),
        only_if(whole(
                    "data.max_tokens", [](auto& c) -> auto& { return c.data.max_tokens; }, {1, 100000},
                    "longest side of a pair"),
                "data.type", {"parallel"}),
        only_if(choice<LongLinesPolicy>(
                    "data.long_lines", [](auto& c) -> auto& { return c.data.long_lines; },
                    "what becomes of longer pairs"),
                "data.type", {"parallel"}),
        only_if(whole(
                    "data.buckets", [](auto& c) -> auto& { return c.data.buckets; }, {1, 64},
                    "lengths that batches are padded to, at most; one plan each"),
                "data.type", {"parallel"}),
    };
}

std::vector<Key> translation_keys() {
    const std::vector<std::string> transformer = {"transformer"};
    return {
        only_if(on_off(
                    "translation.bleu", [](auto& c) -> auto& { return c.translation.bleu; },
                    "translate the validation sentences at each evaluation and score them"),
                "model.type", transformer),
        only_if(also_called(whole(
                                "translation.beam", [](auto& c) -> auto& { return c.translation.beam; },
                                {1, 64}, "hypotheses kept at each step; 1: greedy"),
                            {"beam_size", "num_beams"}),
                "model.type", transformer),
        only_if(
            real(
                "translation.length_penalty", [](auto& c) -> auto& { return c.translation.length_penalty; },
                {0, 10}, "exponent of ((5 + length) / 6), by which the score of a hypothesis is divided"),
            "model.type", transformer),
        only_if(whole(
                    "translation.limit", [](auto& c) -> auto& { return c.translation.limit; },
                    {.min = 1, .max = kMany, .unset_word = "auto"},
                    "translate only the first N validation sentences; auto: all"),
                "model.type", transformer),
    };
}

}  // namespace mpt

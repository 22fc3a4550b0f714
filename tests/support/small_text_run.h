// Runs of seconds on text: a GPT and an encoder-decoder of two narrow blocks, with files of their own.
#pragma once

#include <string>

#include "support/small_run.h"

namespace mpt::test {

// Sentences of a small grammar: enough for a model to learn something from, and never twice the same order.
inline std::string small_text(int lines, const std::string& line_end = "\n") {
    const char* subjects[] = {"the cat", "a dog", "the king", "my friend", "the old man"};
    const char* verbs[] = {"sees", "likes", "follows", "finds"};
    const char* objects[] = {"the house", "a tree", "the river", "bread"};
    std::string text;
    unsigned state = 7;
    for (int i = 0; i < lines; ++i) {
        state = state * 1103515245u + 12345u;
        text += std::string(subjects[state / 65536 % 5]) + " " + verbs[state / 7 % 4] + " " +
                objects[state / 1048576 % 4] + "." + line_end;
    }
    return text;
}

inline RunConfig small_gpt_config(const std::filesystem::path& output, const std::filesystem::path& text) {
    RunConfig config = small_config(output);
    config.model.type = ModelType::kGpt;
    config.model.depth = 2;
    config.model.width = 32;
    config.model.heads = 2;
    config.model.context = 16;
    config.data.type = DataType::kText;
    config.data.path = text.string();
    config.optimizer.type = OptimizerType::kAdamw;
    config.optimizer.lr = 0.003;
    config.checkpoint.best = BestMetric::kLoss;
    return config;
}

inline RunConfig small_transformer_config(const std::filesystem::path& output,
                                          const std::filesystem::path& pairs) {
    RunConfig config = small_gpt_config(output, pairs);
    config.model.type = ModelType::kTransformer;
    config.data.type = DataType::kParallel;
    config.data.sentencepiece_size = 64;
    config.data.buckets = 2;
    config.train.batch_tokens = 128;
    config.model.context = 32;
    config.translation.bleu = false;
    return config;
}

// The same sentences in upper case as "translations".
inline std::string small_pairs(int lines) {
    std::string pairs;
    std::istringstream text(small_text(lines));
    for (std::string line; std::getline(text, line);) {
        std::string other = line;
        for (char& c : other)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        pairs += line + "\t" + other + "\n";
    }
    return pairs;
}

}  // namespace mpt::test

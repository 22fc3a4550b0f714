// GPT-2's own vocabulary, where it is there. Reference: OpenAI's tiktoken (tests/golden/gpt2_ids.json).
#include <catch2/catch.hpp>
#include <filesystem>
#include <iostream>

#include "dataset/text/tokenizer.h"
#include "support/golden.h"

using namespace mpt;
using namespace mpt::test;

TEST_CASE("GPT-2: OpenAI's files") {
    const std::string folder = std::string(MPT_TESTS_DIR) + "/../../shared/data/gpt2-bpe";
    if (!std::filesystem::exists(folder)) {
        std::cout << "SKIPPED: ../shared/data/gpt2-bpe is not there\n";
        return;
    }
    const auto tokenizer = open_gpt2_tokenizer(folder + "/encoder.json", folder + "/vocab.bpe");
    CHECK(tokenizer->vocabulary_size() == 50257);
    CHECK(tokenizer->special().end == 50256);
    for (const auto& expected : golden("gpt2_ids")) {
        const std::string text = expected["text"];
        INFO(text);
        const TokenIds ids = tokenizer->encode(text);
        CHECK(ids == expected["ids"].get<TokenIds>());
        CHECK(tokenizer->decode(ids) == text);
    }
}

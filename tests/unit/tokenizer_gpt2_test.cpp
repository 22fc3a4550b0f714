// GPT-2's byte pair encoding. Reference: OpenAI's tiktoken and the module regex (tests/golden/gpt2_ids.json,
// made by scripts/golden/make_gpt2_golden.py), and a small vocabulary worked by hand.
#include <catch2/catch.hpp>

#include "dataset/text/gpt2_pieces.h"
#include "dataset/text/tokenizer.h"
#include "support/errors.h"
#include "support/golden.h"
#include "support/gpt2_vocabulary.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;

TEST_CASE("GPT-2: the pattern cuts as in Python") {
    const auto cases = golden("gpt2_ids");
    REQUIRE(cases.size() > 20);
    for (const auto& expected : cases) {
        const std::string text = expected["text"];
        INFO(text);
        std::vector<std::string> pieces;
        for (std::size_t at = 0; at < text.size(); at += pieces.back().size()) {
            pieces.push_back(text.substr(at, gpt2_piece_length(std::string_view(text).substr(at))));
        }
        CHECK(pieces == expected["pieces"].get<std::vector<std::string>>());
    }
}

// Merges, lowest rank first: l+o, lo+w, e+r, blank+lo, o+w. "low" is lo then low; " low" has blank+lo (3)
// after lo+w (1), so it is blank, low; "cow" ends in ow; "lower" is low, er; "ooo" has no merge.
TEST_CASE("GPT-2: merges of a small vocabulary") {
    const ScratchFolder folder;
    const auto tokenizer = write_gpt2_vocabulary(folder, {"l o", "lo w", "e r", "\xc4\xa0 lo", "o w"});
    CHECK(tokenizer->vocabulary_size() == 256 + 5 + 1);
    const auto pieces = [&](const std::string& text) {
        std::vector<std::string> parts;
        for (const TokenId id : tokenizer->encode(text)) parts.push_back(tokenizer->decode(std::vector{id}));
        return parts;
    };
    using Parts = std::vector<std::string>;
    CHECK(pieces("low") == Parts{"low"});
    CHECK(pieces(" low") == Parts{" ", "low"});
    CHECK(pieces(" lo") == Parts{" lo"});
    CHECK(pieces("cow") == Parts{"c", "ow"});
    CHECK(pieces("lower lol") == Parts{"low", "er", " lo", "l"});
    CHECK(pieces("ooo") == Parts{"o", "o", "o"});
    CHECK(pieces("").empty());
}

TEST_CASE("GPT-2: every byte has a token and comes back; no special token is read from text") {
    const ScratchFolder folder;
    const auto tokenizer = write_gpt2_vocabulary(folder, {"l o"});
    const std::string text = "\xc3\xa4\xe2\x82\xac \n\t lo <|endoftext|>";
    const TokenIds ids = tokenizer->encode(text);
    CHECK(ids.size() == text.size() - 1);
    CHECK(tokenizer->decode(ids) == text);
    CHECK(tokenizer->special() == SpecialTokens{.begin = 257, .end = 257});
    CHECK(tokenizer->decode(TokenIds{257}).empty());
    CHECK(error_of(ExitCode::kData, [&] { tokenizer->encode("a\xff"); }).find("byte offset 1") !=
          std::string::npos);
}

// Reference: by hand; pairs of a are merged from the left, then pairs of those: 2^20 letters are 2^18 tokens.
// A merge that looked at all pairs again each time would take hours.
TEST_CASE("GPT-2: a word of a million letters") {
    const ScratchFolder folder;
    const auto tokenizer = write_gpt2_vocabulary(folder, {"a a", "aa aa"});
    const TokenIds ids = tokenizer->encode(std::string(1 << 20, 'a') + "aaa");
    REQUIRE(ids.size() == (1 << 18) + 2);
    CHECK(tokenizer->decode(std::span(ids).last(3)) == "aaaaaaa");
}

TEST_CASE("GPT-2: saved and loaded") {
    const ScratchFolder folder, copy;
    const auto tokenizer = write_gpt2_vocabulary(folder, {"l o", "lo w"});
    save_tokenizer(*tokenizer, copy.path().string());
    const auto loaded = load_tokenizer(copy.path().string());
    CHECK(loaded->kind() == "gpt2");
    CHECK(loaded->encode("low lower") == tokenizer->encode("low lower"));
    CHECK(file_text(copy / "vocab.bpe") == file_text(folder / "vocab.bpe"));
}

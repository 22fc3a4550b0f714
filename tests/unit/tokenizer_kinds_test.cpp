// Bytes, characters and what is common to all tokenizers.
#include <catch2/catch.hpp>

#include "dataset/text/tokenizer.h"
#include "support/errors.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;

TEST_CASE("bytes: 256 ids, anything goes in and comes back") {
    const auto tokenizer = make_byte_tokenizer();
    std::string all;
    for (int b = 0; b < 256; ++b) all.push_back(static_cast<char>(b));
    const TokenIds ids = tokenizer->encode(all);
    REQUIRE(ids.size() == 256);
    CHECK(ids[0] == 0);
    CHECK(ids[255] == 255);
    CHECK(tokenizer->decode(ids) == all);
    CHECK(tokenizer->vocabulary_size() == 256);
    CHECK(tokenizer->special() == SpecialTokens{});
    CHECK(tokenizer->encode("").empty());
}

// Reference: by hand. Code points: line feed 10, blank 32, a 97, b 98, ä 228, € 8364, emoji 128512.
TEST_CASE("characters: ids in order of code points") {
    const auto tokenizer = make_character_tokenizer("ba\xe2\x82\xac\n \xf0\x9f\x98\x80 ab\xc3\xa4");
    CHECK(tokenizer->vocabulary_size() == 7);
    CHECK(tokenizer->encode("\n ab\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == TokenIds{0, 1, 2, 3, 4, 5, 6});
    CHECK(tokenizer->decode(TokenIds{5, 2, 6}) ==
          "\xe2\x82\xac"
          "a\xf0\x9f\x98\x80");
    CHECK(tokenizer->special() == SpecialTokens{});
}

TEST_CASE("characters: an unknown one is refused by name and line, or is the last token") {
    const auto strict = make_character_tokenizer("ab\n");
    const std::string message = error_of(ExitCode::kData, [&] { strict->encode("ab\nb\xc3\xa4"); });
    CHECK(message.find("U+00E4 '\xc3\xa4' at line 2") != std::string::npos);
    CHECK(error_of(ExitCode::kData, [&] { strict->encode("\xe2\x82\xac"); }).find("U+20AC") !=
          std::string::npos);
    const auto open = make_character_tokenizer("ab\n", UnknownCharacters::kToken);
    CHECK(open->vocabulary_size() == 4);
    CHECK(open->special().unknown == 3);
    CHECK(open->encode("a\xc3\xa4"
                       "b\xe2\x82\xac") == TokenIds{1, 3, 2, 3});
    CHECK(open->decode(TokenIds{1, 3}) == "a\xef\xbf\xbd");
}

TEST_CASE("ids outside the vocabulary are refused") {
    const auto bytes = make_byte_tokenizer();
    const auto characters = make_character_tokenizer("abc");
    for (const TokenId id : {-1, 256}) {
        const std::string message = error_of(ExitCode::kData, [&] { bytes->decode(std::vector{id}); });
        CHECK(message.find("token " + std::to_string(id)) != std::string::npos);
    }
    CHECK(error_of(ExitCode::kData, [&] { characters->decode(TokenIds{3}); }).find("vocabulary of 3") !=
          std::string::npos);
}

TEST_CASE("tokenizers are saved and loaded") {
    const ScratchFolder folder;
    std::string text = "odd \"quoted\" \\ text\t\xc3\xa4\n";
    text.push_back('\0');
    for (const auto unknown : {UnknownCharacters::kRefuse, UnknownCharacters::kToken}) {
        const auto saved = make_character_tokenizer(text, unknown);
        save_tokenizer(*saved, folder.path().string());
        const auto loaded = load_tokenizer(folder.path().string());
        CHECK(loaded->kind() == "characters");
        CHECK(loaded->vocabulary_size() == saved->vocabulary_size());
        CHECK(loaded->encode(text) == saved->encode(text));
        CHECK(loaded->special() == saved->special());
    }
    save_tokenizer(*make_byte_tokenizer(), folder.path().string());
    CHECK(load_tokenizer(folder.path().string())->kind() == "bytes");
}

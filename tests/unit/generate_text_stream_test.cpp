#include <catch2/catch.hpp>

#include "dataset/text/unicode.h"
#include "generate/text_stream.h"
#include "support/gpt2_vocabulary.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// What comes out token by token; every part must be whole characters.
std::vector<std::string> parts_of(const Tokenizer& tokenizer, const TokenIds& ids) {
    TextStream stream(tokenizer);
    std::vector<std::string> parts;
    for (const TokenId id : ids) parts.push_back(stream.add(id));
    parts.push_back(stream.finish());
    for (const std::string& part : parts) CHECK(find_invalid_utf8(part) == std::string::npos);
    return parts;
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += part;
    return text;
}

const std::string kText = "a\u00d6\u56fe\U0001F600 b";  // characters of 1 to 4 bytes

}  // namespace

TEST_CASE("characters of several bytes come out whole") {
    const auto bytes = make_byte_tokenizer();
    const auto parts = parts_of(*bytes, bytes->encode(kText));
    CHECK(joined(parts) == kText);
    CHECK(parts[0] == "a");
    CHECK(parts[1].empty());
    CHECK(parts[2] == "\u00d6");
    CHECK(parts[9] == "\U0001F600");

    const ScratchFolder folder;
    const auto gpt2 = write_gpt2_vocabulary(folder, {"a b"});
    CHECK(joined(parts_of(*gpt2, gpt2->encode(kText))) == kText);
    const auto characters = make_character_tokenizer(kText);
    CHECK(joined(parts_of(*characters, characters->encode(kText))) == kText);
}

TEST_CASE("bytes that are no characters are replaced, and what follows them is not lost") {
    const auto bytes = make_byte_tokenizer();
    const std::string replaced = "\uFFFD";
    CHECK(joined(parts_of(*bytes, {'a', 0xFF, 'b'})) == "a" + replaced + "b");
    CHECK(joined(parts_of(*bytes, {0x80, 0x80, 0x80, 0x80, 0x80, 'x'})) ==
          replaced + replaced + replaced + replaced + replaced + "x");
    CHECK(joined(parts_of(*bytes, {0xE5, 'x', 'y'})) == replaced + "xy");
    // Cut short at the very end.
    CHECK(joined(parts_of(*bytes, {'a', 0xF0, 0x9F})) == "a" + replaced + replaced);
}

TEST_CASE("the blanks between SentencePiece's words are kept") {
    std::vector<std::string> lines;
    for (int i = 0; i < 30; ++i)
        lines.push_back("the cat sat on the mat number " + std::to_string(i) + " and the dog");
    SentencePieceOptions options;
    options.vocabulary_size = 50;
    const auto pieces = train_sentencepiece_tokenizer(lines, options);
    const std::string text = "the dog sat on the cat";
    CHECK(joined(parts_of(*pieces, pieces->encode(text))) == text);
    TokenIds with_end = pieces->encode(text);
    with_end.insert(with_end.begin() + 3, pieces->special().end);  // gives no text
    CHECK(joined(parts_of(*pieces, with_end)) == pieces->decode(with_end));
}

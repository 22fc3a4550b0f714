// SentencePiece: trained and used through Debian's library. What it learns is its own affair; here: sizes,
// special ids, round trips, the same model each time.
#include <catch2/catch.hpp>

#include "dataset/text/tokenizer.h"
#include "support/errors.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;

namespace {

std::vector<std::string> training_lines() {
    const std::vector<std::string> subjects = {"Ein Hund", "Eine Frau", "Der Mann", "Zwei M\xc3\xa4nner"};
    const std::vector<std::string> verbs = {"l\xc3\xa4uft", "springt", "steht", "sitzt"};
    const std::vector<std::string> places = {"im Park.",
                                             "auf der Stra\xc3\x9f"
                                             "e.",
                                             "am Strand.", "im Wald."};
    std::vector<std::string> lines;
    for (const auto& s : subjects)
        for (const auto& v : verbs)
            for (const auto& p : places) lines.push_back(s + " " + v + " " + p);
    return lines;
}

SentencePieceOptions options_of(SentencePieceModel model) {
    return {.model = model, .vocabulary_size = model == SentencePieceModel::kBpe ? 60 : 44};
}

}  // namespace

TEST_CASE("SentencePiece: trained, used, saved and loaded") {
    const std::vector<std::string> lines = training_lines();
    for (const auto model : {SentencePieceModel::kBpe, SentencePieceModel::kUnigram}) {
        const auto tokenizer = train_sentencepiece_tokenizer(lines, options_of(model));
        CHECK(tokenizer->vocabulary_size() == options_of(model).vocabulary_size);
        CHECK(tokenizer->special() == SpecialTokens{0, 1, 2, 3});
        for (const std::string& line : lines) CHECK(tokenizer->decode(tokenizer->encode(line)) == line);
        const TokenIds ids = tokenizer->encode("Ein Hund steht im Park.");
        CHECK(ids.size() < 20);  // 23 characters
        TokenIds framed = ids;
        framed.insert(framed.begin(), 2);
        framed.insert(framed.end(), {3, 0, 0});
        CHECK(tokenizer->decode(framed) == "Ein Hund steht im Park.");
        CHECK(tokenizer->encode("\xe6\xbc\xa2").back() == 1);
        CHECK(tokenizer->encode("").empty());

        const ScratchFolder folder;
        save_tokenizer(*tokenizer, folder.path().string());
        const auto loaded = load_tokenizer(folder.path().string());
        CHECK(loaded->kind() == "sentencepiece");
        CHECK(loaded->encode(lines[5]) == tokenizer->encode(lines[5]));
        CHECK(loaded->special() == tokenizer->special());
        CHECK(loaded->files()[1].bytes == tokenizer->files()[1].bytes);
    }
}

TEST_CASE("SentencePiece: the same text gives the same model, and the options count") {
    const auto model_of = [](const SentencePieceOptions& options) {
        return train_sentencepiece_tokenizer(training_lines(), options)->files()[1].bytes;
    };
    SentencePieceOptions options = options_of(SentencePieceModel::kUnigram);
    CHECK(model_of(options) == model_of(options));
    options.normalization = "nmt_nfkc_cf";
    options.vocabulary_size = 38;
    const auto lowered = train_sentencepiece_tokenizer(training_lines(), options);
    CHECK(lowered->vocabulary_size() == 38);
    CHECK(lowered->decode(lowered->encode("Ein Hund")) == "ein hund");
}

TEST_CASE("SentencePiece: refuses what it cannot do") {
    const std::vector<std::string> lines = training_lines();
    SentencePieceOptions options = options_of(SentencePieceModel::kBpe);
    const auto failure = [&](std::span<const std::string> text) {
        return error_of(ExitCode::kData, [&] { train_sentencepiece_tokenizer(text, options); });
    };
    options.vocabulary_size = 100000;
    const std::string too_many = failure(lines);
    CHECK(too_many.find("100000 on 64 lines") != std::string::npos);
    // What it says is possible is.
    const std::string words = "supports at most ";
    REQUIRE(too_many.find(words) != std::string::npos);
    options.vocabulary_size = std::stoi(too_many.substr(too_many.find(words) + words.size()));
    CHECK(train_sentencepiece_tokenizer(lines, options)->vocabulary_size() == options.vocabulary_size);
    options.vocabulary_size = 10;
    CHECK(failure(lines).find("vocabulary of 10") != std::string::npos);
    CHECK(failure(lines).find("special tokens alone need ") != std::string::npos);
    options.vocabulary_size = 60;
    CHECK(failure({}).find("0 lines") != std::string::npos);
    CHECK(failure(std::vector<std::string>{"", " "}).find("2 lines") != std::string::npos);
    CHECK(failure(std::vector<std::string>{"a", "\xff"}).find("line 2") != std::string::npos);
    options.normalization = "nothing_known";
    CHECK(failure(lines).find("nothing_known") != std::string::npos);

    const auto tokenizer = train_sentencepiece_tokenizer(lines, options_of(SentencePieceModel::kBpe));
    CHECK(error_of(ExitCode::kData, [&] { tokenizer->encode("a\xff"); }).find("byte offset 1") !=
          std::string::npos);
    CHECK(error_of(ExitCode::kData, [&] { tokenizer->decode(TokenIds{60}); }).find("token 60") !=
          std::string::npos);
}

TEST_CASE("SentencePiece: long lines are learned from, too") {
    // One line of what are 64 lines elsewhere, a hundred times: more than the 4192 bytes that the library
    // reads.
    std::string line;
    std::vector<std::string> many;
    for (int i = 0; i < 100; ++i)
        for (const std::string& part : training_lines()) {
            line += (line.empty() ? "" : " ") + part;
            many.push_back(part);
        }
    const SentencePieceOptions options = options_of(SentencePieceModel::kBpe);
    const std::vector<std::string> one = {line};
    const auto long_line = train_sentencepiece_tokenizer(one, options);
    // Words are the same, and so is what is learned from them.
    CHECK(long_line->encode("Der Mann steht") ==
          train_sentencepiece_tokenizer(many, options)->encode("Der Mann steht"));
    // A line without a space, of characters of two bytes.
    std::string solid;
    for (int i = 0; i < 30000; ++i) solid += i % 3 == 0 ? "\xc3\xa4" : "ab";
    const auto pieces =
        train_sentencepiece_tokenizer(std::vector<std::string>{solid}, {.vocabulary_size = 12});
    CHECK(pieces->decode(pieces->encode(solid)) == solid);
}

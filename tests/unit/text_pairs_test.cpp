// Parallel text: reading, encoding under a limit of length, the report. Reference: counted by hand.
#include <catch2/catch.hpp>
#include <set>

#include "dataset/text/parallel_text.h"
#include "support/errors.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;

namespace {

TokenIds ids_of(std::span<const TokenId> ids) {
    return {ids.begin(), ids.end()};
}

}  // namespace

TEST_CASE("pairs: two files and one with tabs give the same") {
    const ScratchFolder folder;
    write_file(folder / "a.de",
               "\xef\xbb\xbf"
               "eins\r\nzwei drei\r\n");
    write_file(folder / "a.en", "one\ntwo three");
    write_file(folder / "a.tsv", "eins\tone\r\nzwei drei\ttwo three\r\n");
    const ParallelText files =
        ParallelText::from_files((folder / "a.de").string(), (folder / "a.en").string());
    const ParallelText tsv = ParallelText::from_tsv((folder / "a.tsv").string());
    for (const ParallelText* text : {&files, &tsv}) {
        REQUIRE(text->pairs().size() == 2);
        CHECK(text->pairs()[0].source == "eins");
        CHECK(text->pairs()[1].source == "zwei drei");
        CHECK(text->pairs()[1].target == "two three");
    }
}

TEST_CASE("pairs: equal sources stay on one side, and no pair is lost") {
    std::vector<std::string> lines;
    for (int i = 0; i < 400; ++i) lines.push_back("sentence " + std::to_string(i % 200));
    std::vector<ParallelText::Pair> pairs;
    for (const std::string& line : lines) pairs.push_back({line, "x"});
    const auto train = select_pairs(pairs, PairSide::kTrain, 0.25);
    const auto validation = select_pairs(pairs, PairSide::kValidation, 0.25);
    CHECK(train.size() + validation.size() == 400);
    CHECK(validation.size() > 50);
    std::set<std::string_view> seen;
    for (const auto& pair : train) seen.insert(pair.source);
    for (const auto& pair : validation) CHECK(seen.count(pair.source) == 0);
}

TEST_CASE("pairs: 1000 lines of which 300 are too long, one of 2 million characters") {
    std::vector<std::string> lines(1000, "short");
    for (std::size_t i = 0; i < 300; ++i) lines[i * 3].assign(i == 7 ? 2'000'000 : 33, 'x');
    std::vector<ParallelText::Pair> pairs;
    for (const std::string& line : lines) pairs.push_back({line, "target"});
    const auto bytes = make_byte_tokenizer();
    LengthLimit limit{.max_tokens = 32, .long_lines = LongLines::kTruncate};

    const EncodedPairs cut = encode_pairs(pairs, *bytes, *bytes, limit, "a");
    CHECK(cut.report == LoadReport{.read = 1000, .kept = 1000, .truncated = 300, .skipped = 0, .empty = 0});
    CHECK(cut.tokens.num_pairs() == 1000);
    CHECK(cut.tokens.source(21).size() == 32);
    CHECK(ids_of(cut.tokens.source(1)) == bytes->encode("short"));
    CHECK(ids_of(cut.tokens.target(0)) == bytes->encode("target"));
    CHECK(cut.tokens.memory_bytes() < 300'000);

    limit.long_lines = LongLines::kSkip;
    const EncodedPairs skipped = encode_pairs(pairs, *bytes, *bytes, limit, "a");
    CHECK(skipped.report ==
          LoadReport{.read = 1000, .kept = 700, .truncated = 0, .skipped = 300, .empty = 0});
    CHECK(skipped.tokens.num_pairs() == 700);
    CHECK(to_string(skipped.report, limit) ==
          "read 1000 pairs: 700 kept (0 truncated to 32 tokens), 300 skipped as longer than 32 tokens, 0 as "
          "empty");
}

TEST_CASE("pairs: the limit holds for both sides; empty sides are left out") {
    const std::vector<ParallelText::Pair> pairs = {
        {"abcd", "x"}, {"a", "uvwx"}, {"", "x"}, {"x", ""}, {"abc", "uvw"}};
    const auto bytes = make_byte_tokenizer();
    LengthLimit limit{.max_tokens = 3, .long_lines = LongLines::kSkip};
    const EncodedPairs kept = encode_pairs(pairs, *bytes, *bytes, limit, "a");
    CHECK(kept.report == LoadReport{.read = 5, .kept = 1, .truncated = 0, .skipped = 2, .empty = 2});
    CHECK(ids_of(kept.tokens.source(0)) == bytes->encode("abc"));
    limit.long_lines = LongLines::kTruncate;
    const EncodedPairs cut = encode_pairs(pairs, *bytes, *bytes, limit, "a");
    CHECK(cut.report == LoadReport{.read = 5, .kept = 3, .truncated = 2, .skipped = 0, .empty = 2});
    CHECK(ids_of(cut.tokens.target(1)) == bytes->encode("uvw"));
}

TEST_CASE("pairs: a line cut before it is encoded ends with a whole character") {
    std::string line;
    for (int i = 0; i < 1000; ++i) line += "\xe2\x82\xac";
    const std::vector<ParallelText::Pair> pairs = {{line, "x"}};
    const auto characters = make_character_tokenizer("x\xe2\x82\xac");
    const LengthLimit limit{.max_tokens = 3, .long_lines = LongLines::kTruncate};
    const EncodedPairs cut = encode_pairs(pairs, *characters, *characters, limit, "a");
    CHECK(ids_of(cut.tokens.source(0)) == TokenIds{1, 1, 1});
    CHECK(cut.report.truncated == 1);
}

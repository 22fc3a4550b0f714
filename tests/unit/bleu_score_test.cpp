// BLEU. Reference: sacreBLEU 2.6 on the same lines; the first examples are worked by hand, too.
#include <catch2/catch.hpp>
#include <cmath>

#include "dataset/text/bleu.h"
#include "support/errors.h"

using namespace mpt;
using namespace mpt::test;

namespace {

using Tokens = std::vector<std::string>;

BleuScore score_of(const Tokens& hypotheses, const Tokens& references, const BleuOptions& options = {}) {
    return corpus_bleu(hypotheses, references, options);
}

}  // namespace

TEST_CASE("BLEU: tokens of 13a") {
    const std::vector<std::pair<std::string, Tokens>> cases = {
        {"Hello, world!", {"Hello", ",", "world", "!"}},
        {"It costs $3.14, or 1,000,000 (about 2.5-3.0%).",
         {"It", "costs", "$", "3.14", ",", "or", "1,000,000", "(", "about", "2.5", "-", "3.0", "%", ")",
          "."}},
        {"&quot;A &amp; B&quot; &lt;tag&gt; &amp;lt;", {"\"", "A", "&", "B", "\"", "<", "tag", ">", "<"}},
        {"1990-2000, 5-fold; x-ray; U.S.A.",
         {"1990", "-", "2000", ",", "5", "-", "fold", ";", "x-ray", ";", "U", ".", "S", ".", "A", "."}},
        {"don't stop... now..,,.", {"don't", "stop", ".", ".", ".", "now", ".", ".", ",", ",", "."}},
        {"a<skipped>b c-\nd e\nf", {"ab", "cd", "e", "f"}},
        {"\xc2\xa0 space\xe3\x80\x80here\x1c"
         "and\xe2\x80\x83there \n",
         {"space", "here", "and", "there"}},
        {"word-\n", {"word-"}},
        {"word-\n\xc2\xa0", {"word-"}},
        {"[x]{y}|z~^_`@#%*+=<>?\\/", {"[", "x", "]", "{", "y", "}", "|", "z", "~", "^",  "_", "`",
                                      "@", "#", "%", "*", "+", "=", "<", ">", "?", "\\", "/"}},
        {"„Größe“ – so groß… 3,5 m. Ä.", {"„Größe“", "–", "so", "groß…", "3,5", "m", ".", "Ä", "."}},
        {" . , - ", {".", ",", "-"}},
        {"1.a a.1 1,,2 .5 5. -5 5-",
         {"1", ".", "a", "a", ".", "1", "1", ",", ",", "2", ".", "5", "5", ".", "-5", "5", "-"}},
        {"", {}},
    };
    for (const auto& [line, tokens] : cases) {
        INFO(line);
        CHECK(bleu_tokens_13a(line) == tokens);
    }
    CHECK(error_of(ExitCode::kData, [] { bleu_tokens_13a("a\xff"); }).find("byte offset 1") !=
          std::string::npos);
}

// 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples, equal length.
TEST_CASE("BLEU: worked by hand") {
    const BleuScore score = score_of({"the cat sat on the mat"}, {"the cat sat on a mat"});
    CHECK(score.counts == BleuCounts{{5, 3, 2, 1}, {6, 5, 4, 3}, 6, 6});
    CHECK(score.score == Approx(100 * std::pow(5.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25)).epsilon(1e-12));
    CHECK(score.score == Approx(53.7284965911771).epsilon(1e-12));
    CHECK(to_string(score) ==
          "BLEU = 53.73 83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)");

    // Matches are clipped at what the reference has: 2 of 7. Then exp takes 1/2, 1/4, 1/8 for the other
    // orders.
    const BleuScore clipped = score_of({"the the the the the the the"}, {"the cat is on the mat"});
    CHECK(clipped.counts.correct == std::array<std::int64_t, 4>{2, 0, 0, 0});
    CHECK(clipped.precisions[1] == Approx(100.0 / 12));
    CHECK(clipped.precisions[3] == Approx(100.0 / 32));
    CHECK(clipped.score == Approx(7.809849842300637).epsilon(1e-12));
}

TEST_CASE("BLEU: smoothing, brevity and sums over a corpus") {
    const Tokens hypotheses = {"a b c x e f", "g h"}, references = {"a b c d e f", "g h i"};
    const auto with = [&](BleuSmoothing smoothing) {
        return score_of(hypotheses, references, {.smoothing = smoothing});
    };
    const BleuScore score = with(BleuSmoothing::kExp);
    CHECK(score.counts == BleuCounts{{7, 4, 1, 0}, {8, 6, 4, 3}, 8, 9});
    CHECK(score.brevity_penalty == Approx(std::exp(1 - 9.0 / 8)).epsilon(1e-12));
    CHECK(score.score == Approx(34.844928509543394).epsilon(1e-12));
    CHECK(with(BleuSmoothing::kFloor).score == Approx(23.30220811835367).epsilon(1e-12));
    CHECK(with(BleuSmoothing::kAddK).score == Approx(44.12484512922978).epsilon(1e-12));
    CHECK(with(BleuSmoothing::kOff).score == 0);
    BleuCounts sum = bleu_counts(hypotheses[0], std::span(references).first(1));
    sum += bleu_counts(hypotheses[1], std::span(references).last(1));
    CHECK(sum == score.counts);
}

TEST_CASE("BLEU: lower case") {
    const Tokens hypothesis =
                     {"Der HUND schl\xc3\x84"
                      "ft im Haus."},
                 reference = {
                     "der Hund schl\xc3\xa4"
                     "ft im haus ."};
    CHECK(score_of(hypothesis, reference).score < 20);
    CHECK(score_of(hypothesis, reference, {.lower_case = true}).score == Approx(100));
}

TEST_CASE("BLEU: edges") {
    CHECK(score_of({"A dog runs."}, {"A dog runs."}).score == Approx(100));
    CHECK(score_of({"Two men."}, {"Two men."}).score == 0);  // no word quadruple
    CHECK(score_of({"x y z"}, {"a b c"}).score == 0);
    CHECK(score_of({""}, {"a b"}).brevity_penalty == 0);
    CHECK(score_of({""}, {"a b"}).score == 0);
    CHECK(score_of({""}, {""}).score == 0);
    const std::string message = error_of(ExitCode::kData, [] { score_of({"a", "b"}, {"a"}); });
    CHECK(message.find("2 hypotheses and 1 references") != std::string::npos);
    error_of(ExitCode::kData, [] { score_of({}, {}); });
}

// By hand: the closest length to 3 of {2, 4} is 2, the shorter; "a b" from the one, "c" from the other.
TEST_CASE("BLEU: several references") {
    const Tokens references = {"a b", "x c y z"};
    const BleuCounts counts = bleu_counts("a b c", references);
    CHECK(counts == BleuCounts{{3, 1, 0, 0}, {3, 2, 1, 0}, 3, 2});
}

// Translating many sentences with caches against the encoder-decoder over whole sentences.
#include <catch2/catch.hpp>
#include <cmath>

#include "generate/translator.h"
#include "support/inference_model.h"

using namespace mpt;
using namespace mpt::test;

namespace {

constexpr TokenId kPadding = 0, kBegin = 2, kEnd = 3, kFirst = 4;
constexpr TokenId kVocabulary = 21;

TranslatorOptions small_translator(std::int64_t beam, std::int64_t batch) {
    TranslatorOptions options;
    options.model.encoder_depth = 2;
    options.model.decoder_depth = 2;
    options.model.width = 16;
    options.model.heads = 2;
    options.model.source_vocabulary = options.model.target_vocabulary = kVocabulary;
    options.specials = {kPadding, kBegin, kEnd};
    options.context = 24;
    options.beam = beam;
    options.batch = batch;
    return options;
}

std::unique_ptr<Translator> drawn(const TranslatorOptions& options) {
    auto translator = std::make_unique<Translator>(options);
    draw_weights(translator->weights(), 5);
    return translator;
}

// Of 1 to 12 tokens, in no order.
std::vector<TokenIds> sentences(std::size_t count) {
    std::vector<TokenIds> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(drawn_tokens(1 + i * 7 % 12, kFirst, kVocabulary, 100 + i));
    return all;
}

// Log-probabilities [length of target + 1][vocabulary] of the tokens after each part of `target`.
std::vector<std::vector<double>> whole_sentence(Translator& translator, const TransformerConfig& config,
                                                const TokenIds& source, const TokenIds& target) {
    const auto s = static_cast<std::int64_t>(source.size()) + 1,
               t = static_cast<std::int64_t>(target.size()) + 1;
    const InferencePlan whole(translator.weights(), "whole", [&](GraphBuilder& b) {
        const ValueId from = b.input("source", {{1, s}, DType::i32});
        const ValueId lengths = b.input("lengths", {{1}, DType::i32});
        b.output("logits", transformer(b, {from, lengths, b.input("target", {{1, t}, DType::i32})}, config));
    });
    std::ranges::copy(source, whole.input<TokenId>("source").begin());
    whole.input<TokenId>("source").back() = kEnd;
    whole.input<std::int32_t>("lengths")[0] = static_cast<std::int32_t>(s);
    whole.input<TokenId>("target")[0] = kBegin;
    std::ranges::copy(target, whole.input<TokenId>("target").begin() + 1);
    whole.run();
    const auto logits = whole.output<float>("logits");
    const std::size_t width = logits.size() / static_cast<std::size_t>(t);
    std::vector<std::vector<double>> rows;
    for (std::size_t i = 0; i < static_cast<std::size_t>(t); ++i) {
        const auto row = logits.subspan(i * width, kVocabulary);
        double sum = 0;
        for (const float z : row) sum += std::exp(static_cast<double>(z));
        std::vector<double>& logp = rows.emplace_back();
        for (const float z : row) logp.push_back(static_cast<double>(z) - std::log(sum));
    }
    return rows;
}

double log_probability_of(Translator& translator, const TransformerConfig& config, const TokenIds& source,
                          const Hypothesis& h) {
    const auto rows = whole_sentence(translator, config, source, h.tokens);
    double sum = 0;
    for (std::size_t i = 0; i < h.tokens.size(); ++i) sum += rows[i][static_cast<std::size_t>(h.tokens[i])];
    return h.ended ? sum + rows.back()[kEnd] : sum;
}

}  // namespace

TEST_CASE("greedy translations are the arg-max of the whole sentence at each place") {
    const TranslatorOptions options = small_translator(1, 4);
    const auto translator = drawn(options);
    const std::vector<TokenIds> sources = sentences(11);  // more than places, of all lengths
    const auto found = translator->translate(sources);
    REQUIRE(found);
    int num_ended = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const Hypothesis& h = (*found)[i];
        CAPTURE(i, h.tokens);
        const auto rows = whole_sentence(*translator, options.model, sources[i], h.tokens);
        for (std::size_t t = 0; t < h.tokens.size(); ++t)
            CHECK(std::ranges::max_element(rows[t]) - rows[t].begin() == h.tokens[t]);
        if (h.ended) CHECK(std::ranges::max_element(rows.back()) - rows.back().begin() == kEnd);
        if (!h.ended) CHECK(static_cast<std::int64_t>(h.tokens.size()) == options.context);
        num_ended += h.ended ? 1 : 0;
        CHECK(h.log_probability ==
              Approx(log_probability_of(*translator, options.model, sources[i], h)).margin(1e-3));
    }
    // Both ways of ending occur.
    CHECK(num_ended > 0);
    CHECK(num_ended < 11);
}

TEST_CASE("a translation does not hang on its company") {
    const std::int64_t beam = GENERATE(1, 3);
    const std::vector<TokenIds> sources = sentences(9);
    const auto together = drawn(small_translator(beam, 4))->translate(sources);
    const auto alone = drawn(small_translator(beam, 64));
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto one = alone->translate(std::span(sources).subspan(i, 1));
        CHECK(one->front().tokens == (*together)[i].tokens);
    }
    // Nor on what was translated before, nor on the memory there is.
    TranslatorOptions tight = small_translator(beam, 64);
    tight.memory_bytes = 1;
    CHECK(drawn(tight)->translate(sources)->back().tokens == together->back().tokens);
}

TEST_CASE("a beam finds sentences that score higher than greedy ones") {
    const std::vector<TokenIds> sources = sentences(30);
    const TranslatorOptions options = small_translator(4, 5);
    const auto wide = drawn(options);
    const auto greedy = drawn(small_translator(1, 5))->translate(sources);
    const auto found = wide->translate(sources);
    int num_higher = 0, num_lower = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const Hypothesis &h = (*found)[i], &first = (*greedy)[i];
        // The score is the model's own, over the whole sentence.
        CHECK(h.log_probability ==
              Approx(log_probability_of(*wide, options.model, sources[i], h)).margin(1e-3));
        const auto length = static_cast<std::int64_t>(h.tokens.size()) + (h.ended ? 1 : 0);
        CHECK(h.score == Approx(h.log_probability / length_penalty(length, 0.6)));
        num_higher += h.score > first.score + 1e-4 ? 1 : 0;
        num_lower += h.score < first.score - 1e-4 ? 1 : 0;
    }
    CHECK(num_higher > 0);
    CHECK(num_lower == 0);
}

TEST_CASE("empty sources have empty translations, long ones are cut") {
    const auto translator = drawn(small_translator(1, 4));
    const TokenIds long_one = drawn_tokens(60, kFirst, kVocabulary, 9);
    const std::vector<TokenIds> sources = {{}, long_one, {}, {long_one.begin(), long_one.begin() + 23}};
    const auto found = translator->translate(sources);
    CHECK((*found)[0].tokens.empty());
    CHECK((*found)[2].tokens.empty());
    CHECK_FALSE((*found)[1].tokens.empty());
    CHECK((*found)[1].tokens == (*found)[3].tokens);
    CHECK(translator->translate(std::vector<TokenIds>(3))->size() == 3);
}

TEST_CASE("translating stops when asked to and starts afresh") {
    const auto translator = drawn(small_translator(2, 4));
    const std::vector<TokenIds> sources = sentences(9);
    const auto whole = translator->translate(sources);
    int steps = 0;
    CHECK_FALSE(translator->translate(sources, [&](std::int64_t) { return ++steps < 3; }));
    CHECK(steps == 3);
    std::int64_t last = 0;
    const auto again = translator->translate(sources, [&](std::int64_t done) {
        CHECK(done >= last);
        last = done;
        return true;
    });
    CHECK(last == 9);
    for (std::size_t i = 0; i < sources.size(); ++i) CHECK((*again)[i].tokens == (*whole)[i].tokens);
}

// Decoding with caches against the whole sequence read at once.
#include <catch2/catch.hpp>

#include "core/float_formats.h"
#include "generate/gpt_generator.h"
#include "generate/sampler.h"
#include "support/inference_model.h"

using namespace mpt;
using namespace mpt::test;

namespace {

GptConfig small_gpt(std::int64_t context, Positions positions) {
    GptConfig config;
    config.depth = 2;
    config.width = 16;
    config.heads = 2;
    config.vocabulary = 23;
    config.context = context;
    config.positions = positions;
    return config;
}

// Logits of the last position of `tokens` by the graph that training evaluates.
std::vector<float> last_logits(GptGenerator& generator, const GptConfig& config, const TokenIds& tokens) {
    const auto length = static_cast<std::int64_t>(tokens.size());
    const InferencePlan whole(generator.weights(), "whole", [&](GraphBuilder& b) {
        b.output("logits", gpt(b, {b.input("tokens", {{1, length}, DType::i32})}, config));
    });
    std::ranges::copy(tokens, whole.input<TokenId>("tokens").begin());
    whole.run();
    const auto logits = whole.output<float>("logits");
    const auto last = logits.last(logits.size() / tokens.size());
    return {last.begin(), last.begin() + config.vocabulary};
}

void check_equal(std::span<const float> got, const std::vector<float>& wanted) {
    REQUIRE(got.size() == wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        CHECK(static_cast<double>(got[i]) == Approx(static_cast<double>(wanted[i])).margin(2e-4));
}

TokenId most_likely(std::span<const float> logits) {
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

struct Case {
    std::int64_t context, drop;
    std::size_t prompt, tokens;
};

}  // namespace

TEST_CASE("a gpt's tokens are those of the whole sequence read anew each time") {
    // In one piece and in several, up to the end of the context and beyond it.
    const auto [context, drop, prompt, tokens] =
        GENERATE(Case{12, 1, 3, 20}, Case{12, 5, 12, 15}, Case{100, 1, 90, 14}, Case{70, 9, 75, 12});
    const Positions positions = GENERATE(Positions::kLearned, Positions::kRotary);
    CAPTURE(context, drop, prompt, positions == Positions::kRotary);
    const GptConfig config = small_gpt(context, positions);
    GptGenerator generator({config, drop, {}});
    draw_weights(generator.weights(), 7);

    TokenIds window = drawn_tokens(prompt, 0, 23, 3);
    std::span<const float> logits = generator.start(window);
    if (window.size() > static_cast<std::size_t>(context))
        window.erase(window.begin(), window.end() - context);
    for (std::size_t i = 0; i < tokens; ++i) {
        const std::vector<float> wanted = last_logits(generator, config, window);
        check_equal(logits, wanted);
        REQUIRE(most_likely(logits) == most_likely(wanted));
        window.push_back(most_likely(logits));
        logits = generator.next(window.back());
        if (window.size() > static_cast<std::size_t>(context))
            window.erase(window.begin(), window.begin() + drop);
    }
}

TEST_CASE("a gpt starts anew with a prompt") {
    GptGenerator generator({small_gpt(16, Positions::kLearned), 1, {}});
    draw_weights(generator.weights(), 7);
    const TokenIds prompt = {4, 9, 1};
    const auto first = generator.start(prompt);
    const std::vector<float> wanted(first.begin(), first.end());
    for (TokenId id = 0; id < 20; ++id) generator.next(id);
    const auto again = generator.start(prompt);
    CHECK(std::vector<float>(again.begin(), again.end()) == wanted);
}

TEST_CASE("weights are copied by name, whatever their order and type") {
    const GptConfig config = small_gpt(16, Positions::kLearned);
    GptGenerator generator({config, 1, {}}), copy({config, 1, {}}), narrow({config, 1, {}});
    draw_weights(generator.weights(), 7);
    // Another table: one variable more in front, f16.
    VariableTable table;
    table.get_or_add("other", {5}, Role::kBias, {});
    for (const Variable& v : generator.weights().table().all())
        table.get_or_add(v.name, v.shape, v.role, v.init, v.layout);
    const auto elements = static_cast<std::size_t>(table.parameter_elements());
    std::vector<float> f32(elements);
    std::vector<f16> halves(elements);
    for (const Variable& v : generator.weights().table().all()) {
        const auto* from = reinterpret_cast<const float*>(generator.weights().masters()) + v.offset;
        std::copy_n(from, v.shape.num_elements(), f32.begin() + table[table.find(v.name)].offset);
    }
    std::ranges::transform(f32, halves.begin(), [](float x) { return f16(x); });
    copy.weights().copy_from(table, reinterpret_cast<const std::byte*>(f32.data()));
    table.enable(Region::kMaster, DType::f16, table.parameter_elements());
    narrow.weights().copy_from(table, reinterpret_cast<const std::byte*>(halves.data()));

    const TokenIds prompt = {4, 9, 1};
    const auto got = copy.start(prompt), wanted = generator.start(prompt), rounded = narrow.start(prompt);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(got[i] == wanted[i]);
        CHECK(static_cast<double>(rounded[i]) == Approx(static_cast<double>(wanted[i])).margin(2e-2));
    }
}

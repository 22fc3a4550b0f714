// Decoding against caches gives the logits of the whole sequence: prompts at once or token by token,
// sequences at different positions, hypotheses of one sentence over a shared source.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>

#include "models/gpt/gpt_decode.h"
#include "models/transformer/transformer_decode.h"
#include "support/golden_model.h"
#include "support/model_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<ModelRun> loaded(const Json& c, const std::function<ValueId(GraphBuilder&)>& build) {
    auto model = std::make_unique<ModelRun>(build);
    const ScratchFolder folder;
    write_golden_weights(folder / "w", c["shapes"], "");
    const SafetensorsFile file(folder / "w");
    // An encoder or decoder alone has a part of the weights.
    for (const Mismatch& mismatch : read_fitting_tensors(file, weight_tensors(model->view())))
        REQUIRE(mismatch.fault.find("the model has no such tensor") != std::string::npos);
    return model;
}

std::unique_ptr<ModelRun> graph_of(const Json& c, const std::function<void(GraphBuilder&)>& build) {
    return loaded(c, [&](GraphBuilder& b) {
        build(b);
        return kNone;
    });
}

// Column `t` of the rows of ids [B,T].
Ids column(const Ids& ids, std::size_t length, std::size_t first, std::size_t count) {
    Ids part;
    for (std::size_t row = 0; row < ids.size() / length; ++row)
        for (std::size_t t = first; t < first + count; ++t) part.push_back(ids[row * length + t]);
    return part;
}

// Row `i` of logits that are as wide as those of `all`.
void check_row(const std::vector<float>& got, std::size_t i, const std::vector<float>& all, std::size_t row,
               std::size_t width) {
    for (std::size_t v = 0; v < width; ++v)
        CHECK(static_cast<double>(got[i * width + v]) ==
              Approx(static_cast<double>(all[row * width + v])).margin(2e-5));
}

void copy_caches(ModelRun& from, ModelRun& to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string name = "cache." + std::to_string(i);
        std::ranges::copy(from.executor().input<float>(name), to.executor().input<float>(name).begin());
    }
}

struct GptCase {
    Json c;
    GptConfig config;
    Ids tokens;                 // [2,7]
    std::vector<float> logits;  // of the whole sequences
    std::size_t width = 0;      // padded vocabulary

    explicit GptCase(const Json& from) : c(from), config(gpt_config(c["config"])), tokens(flat(c["tokens"])) {
        const auto whole = loaded(c, [&](GraphBuilder& b) {
            return gpt(b, {b.input("tokens", {{2, 7}, DType::i32})}, config);
        });
        whole->set("tokens", tokens);
        whole->run();
        logits = whole->get("result");
        width = logits.size() / 14;
    }
    std::unique_ptr<ModelRun> decoder(std::int64_t count) const {
        return graph_of(c, [&](GraphBuilder& b) { gpt_decode_graph(b, {2, count, 7}, config); });
    }
};

}  // namespace

TEST_CASE("a gpt continues a prompt as it would have read the whole") {
    const Json file = golden("torch_gpt");
    for (const Json& c : file["cases"]) {
        INFO(c["config"].dump());
        const GptCase test(c);
        const auto prompt = test.decoder(3), step = test.decoder(1);
        prompt->set("tokens", column(test.tokens, 7, 0, 3));
        prompt->set("position", Ids{0, 0});
        prompt->run();
        for (std::size_t row = 0; row < 2; ++row)
            for (std::size_t t = 0; t < 3; ++t)
                check_row(prompt->get("logits"), row * 3 + t, test.logits, row * 7 + t, test.width);
        copy_caches(*prompt, *step, test.config.depth);
        for (std::size_t t = 3; t < 7; ++t) {
            const auto at = static_cast<std::int32_t>(t);
            step->set("tokens", column(test.tokens, 7, t, 1));
            step->set("position", Ids{at, at});
            step->run();
            for (std::size_t row = 0; row < 2; ++row)
                check_row(step->get("logits"), row, test.logits, row * 7 + t, test.width);
        }
        // A second part of a prompt.
        prompt->set("tokens", column(test.tokens, 7, 3, 3));
        prompt->set("position", Ids{3, 3});
        prompt->run();
        check_row(prompt->get("logits"), 5, test.logits, 7 + 5, test.width);
    }
}

TEST_CASE("sequences of a batch may stand at different positions") {
    const Json file = golden("torch_gpt");
    for (const Json& c : file["cases"]) {
        INFO(c["config"].dump());
        const GptCase test(c);
        const auto step = test.decoder(1);
        // The second sequence is two tokens behind; until it starts it writes rows that it overwrites later.
        for (std::int32_t t = 0; t < 9; ++t) {
            const std::int32_t first = std::min(t, 6), second = std::max(t - 2, 0);
            step->set("tokens", Ids{test.tokens[static_cast<std::size_t>(first)],
                                    test.tokens[static_cast<std::size_t>(7 + second)]});
            step->set("position", Ids{first, second});
            step->run();
            check_row(step->get("logits"), 0, test.logits, static_cast<std::size_t>(first), test.width);
            check_row(step->get("logits"), 1, test.logits, static_cast<std::size_t>(7 + second), test.width);
        }
    }
}

TEST_CASE("a transformer decodes hypotheses of a sentence as it would have read each whole") {
    const Json file = golden("torch_transformer");
    for (const Json& c : file["cases"]) {
        INFO(c["config"].dump());
        const TransformerConfig config = transformer_config(c["config"]);
        const Ids source = flat(c["source"]), lengths = c["lengths"].get<Ids>();
        // Hypotheses: the target, and the target backwards.
        const Ids forwards = flat(c["target"]);
        const Ids backwards(forwards.rbegin(), forwards.rend());
        const auto whole = loaded(c, [&](GraphBuilder& b) {
            const ValueId s = b.input("source", {{3, 6}, DType::i32});
            const ValueId l = b.input("source_lengths", {{3}, DType::i32});
            return transformer(b, {s, l, b.input("target", {{3, 5}, DType::i32})}, config);
        });
        const auto encoder = graph_of(c, [&](GraphBuilder& b) {
            transformer_encode_graph(b, {3, 6}, config);
        });
        std::vector<std::vector<float>> logits;
        for (ModelRun* model : {whole.get(), encoder.get()}) {
            model->set("source", source);
            model->set("source_lengths", lengths);
        }
        for (const Ids& target : {forwards, backwards}) {
            whole->set("target", target);
            whole->run();
            logits.push_back(whole->get("result"));
        }
        encoder->run();

        for (const std::int64_t count : {1, 5}) {
            const auto decoder = graph_of(c, [&](GraphBuilder& b) {
                transformer_decode_graph(b, {3, 2, count, 5, 6}, config);
            });
            decoder->set("source_lengths", lengths);
            for (std::int64_t i = 0; i < config.decoder_depth; ++i)
                decoder->set("cross." + std::to_string(i), encoder->get("cross." + std::to_string(i)));
            const std::size_t width = logits[0].size() / 15, step = static_cast<std::size_t>(count);
            for (std::size_t t = 0; t < 5; t += step) {
                Ids tokens;
                for (std::size_t row = 0; row < 6; ++row)
                    for (std::size_t i = t; i < t + step; ++i)
                        tokens.push_back((row % 2 == 0 ? forwards : backwards)[row / 2 * 5 + i]);
                decoder->set("tokens", tokens);
                decoder->set("position", Ids(6, static_cast<std::int32_t>(t)));
                decoder->run();
                for (std::size_t row = 0; row < 6; ++row)
                    for (std::size_t i = 0; i < step; ++i)
                        check_row(decoder->get("logits"), row * step + i, logits[row % 2],
                                  row / 2 * 5 + t + i, width);
            }
        }
    }
}

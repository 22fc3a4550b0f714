// Twenty steps of AdamW from the same weights on the same batch have PyTorch's losses (tests/golden, f64):
// within 1e-3 in f32, within 2e-2 in mixed precision.
#include "support/model_training.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "layers/token_loss.h"
#include "support/golden_model.h"

using namespace mpt;
using namespace mpt::test;

namespace {

using Inputs = std::map<std::string, std::vector<std::int32_t>>;

// The greatest relative difference to the losses of the case.
double worst_loss(const Json& c, DType narrow, const std::function<ValueId(GraphBuilder&)>& logits,
                  Inputs inputs) {
    inputs["targets"] = c["targets"].get<std::vector<std::int32_t>>();
    const auto tokens = static_cast<std::int64_t>(inputs["targets"].size());
    const auto vocabulary = static_cast<std::int64_t>(c["logits"][0].size());
    ModelTraining training(
        [&](GraphBuilder& b) {
            const ValueId z = logits(b);
            return token_loss(b, z, b.input("targets", {{tokens}, DType::i32}), {vocabulary});
        },
        narrow);
    const ScratchFolder folder;
    write_golden_weights(folder / "w", c["shapes"], "");
    read_tensors(SafetensorsFile(folder / "w"), weight_tensors(training.view()), Conversion::kExact);
    training.weights_changed();
    double worst = 0;
    const float weight = 1 / static_cast<float>(tokens - 1);  // one is ignored
    for (const double expected : c["training"].get<std::vector<double>>()) {
        const auto loss = static_cast<double>(training.step(inputs, weight));
        const double difference = std::abs(loss - expected) / expected;
        if (!(difference <= worst)) worst = difference;
    }
    return worst;
}

void check_case(const Json& c, const std::function<ValueId(GraphBuilder&)>& logits, const Inputs& inputs) {
    REQUIRE(c["training"].size() == 20);
    for (const auto& [narrow, tolerance] :
         {std::pair(DType::f32, 1e-3), std::pair(DType::bf16, 2e-2), std::pair(DType::f16, 2e-2)}) {
        INFO(name_of(narrow) << " " << c["config"].dump());
        CHECK(worst_loss(c, narrow, logits, inputs) < tolerance);
    }
}

}  // namespace

TEST_CASE("a small gpt learns as in PyTorch") {
    const Json file = golden("torch_gpt");
    for (const Json& c : file["cases"])
        check_case(c,
                   [&](GraphBuilder& b) {
                       return gpt(b, {b.input("tokens", {shape_of(c["tokens"]), DType::i32})},
                                  gpt_config(c["config"]));
                   },
                   {{"tokens", flat(c["tokens"])}});
}

TEST_CASE("a small transformer learns as in PyTorch") {
    const Json file = golden("torch_transformer");
    for (const Json& c : file["cases"])
        check_case(c,
                   [&](GraphBuilder& b) {
                       const ValueId source = b.input("source", {shape_of(c["source"]), DType::i32});
                       const ValueId lengths = b.input("source_lengths", {{3}, DType::i32});
                       const ValueId target = b.input("target", {shape_of(c["target"]), DType::i32});
                       return transformer(b, {source, lengths, target}, transformer_config(c["config"]));
                   },
                   {{"source", flat(c["source"])},
                    {"source_lengths", c["lengths"].get<std::vector<std::int32_t>>()},
                    {"target", flat(c["target"])}});
}

// Training graphs of small Transformers, fused and unfused, on the fast kernels: loss and gradients agree,
// and what should be fused is. The unfused graph in f32 is the truth for both.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/philox.h"
#include "models/gpt/gpt.h"
#include "models/transformer/transformer.h"
#include "ops/add/add.h"
#include "ops/add_rms_norm/add_rms_norm.h"
#include "ops/embedding/embedding.h"
#include "ops/gelu/gelu.h"
#include "ops/linear/linear.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/multiply/multiply.h"
#include "ops/relu/relu.h"
#include "ops/silu/silu.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "ops/swiglu/swiglu.h"
#include "passes/pipeline.h"
#include "support/graph_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

constexpr std::int64_t kBatch = 3, kLength = 9, kVocabulary = 50;

using Model = std::function<ValueId(GraphBuilder&)>;  // -> logits

ValueId small_gpt(GraphBuilder& b, const GptConfig& kind) {
    GptConfig config = kind;
    config.depth = 2, config.width = 32, config.heads = 2, config.context = 16;
    config.vocabulary = kVocabulary;
    return gpt(b, {b.input("tokens", {{kBatch, kLength}, DType::i32})}, config);
}

ValueId small_transformer(GraphBuilder& b) {
    TransformerConfig config;
    config.encoder_depth = config.decoder_depth = 1;
    config.width = 32, config.heads = 2;
    config.source_vocabulary = config.target_vocabulary = kVocabulary;
    TransformerInputs inputs;
    inputs.source = b.input("source", {{kBatch, 7}, DType::i32});
    inputs.source_lengths = b.input("source_lengths", {{kBatch}, DType::i32});
    inputs.target = b.input("target", {{kBatch, kLength}, DType::i32});
    return transformer(b, inputs, config);
}

struct Training {
    Graph graph;
    VariableTable variables;

    Training(const Model& model, DType narrow, bool fused) {
        GraphBuilder b(graph, &variables);
        const ValueId logits = model(b);
        const ValueId targets = b.input("targets", {{kBatch * kLength}, DType::i32});
        const LossAttributes attributes{0.1, -1, kVocabulary};
        const ValueId loss = softmax_cross_entropy(b, logits, targets, attributes).loss_sum;
        b.output("loss", loss);
        PipelineOptions options;
        options.precision.narrow = narrow;
        options.num_threads = 2;
        options.kernels = &cpu_kernels();
        options.skip = {"cast_into_update"};  // narrow weights are cast from the masters in the graph
        if (!fused) options.skip.push_back("fuse");
        run_pipeline(b, loss, b.input("seed", {{}, DType::f32}), options);
    }
    int count(const OpType& op) const {
        int found = 0;
        for (const Node& node : graph.nodes) found += node.op == &op ? 1 : 0;
        return found;
    }
    // The loss and the gradient of every parameter, from values drawn by name.
    std::map<std::string, std::vector<double>> run() const {
        GraphRun run(graph, cpu_kernels(), 2);
        for (std::size_t v = 0; v < graph.values.size(); ++v)
            if (graph.values[v].kind != ValueKind::kIntermediate)
                run.set(static_cast<ValueId>(v), drawn(graph.values[v]));
        run.run();
        std::map<std::string, std::vector<double>> results;
        results["loss"] = run.get(graph.output("loss"));
        for (std::size_t v = 0; v < graph.values.size(); ++v)
            if (graph.values[v].store && graph.values[v].store->region == Region::kGradient)
                results[graph.values[v].name] = run.get(static_cast<ValueId>(v));
        return results;
    }

  private:
    static std::vector<double> drawn(const Value& value) {
        std::uint64_t key = 0;
        for (const char c : value.name) key = key * 131 + static_cast<unsigned char>(c);
        RandomStream random(5, RandomPurpose::kSynthetic, key);
        std::vector<double> values;
        for (std::int64_t i = 0; i < value.type.shape.num_elements(); ++i) {
            const double u = static_cast<double>(random.uniform());
            if (value.name == "seed")
                values.push_back(0.5);
            else if (value.name == "source_lengths")
                values.push_back(static_cast<double>(7 - 3 * i));
            else if (value.type.dtype == DType::i32)
                values.push_back(std::floor(u * static_cast<double>(kVocabulary)));
            else if (value.store->region == Region::kGradient)
                values.push_back(0.25);  // what earlier micro-steps left there
            else
                values.push_back(value.type.shape.rank() == 1 ? 0.5 + u : (u - 0.5) / 2);
        }
        return values;
    }
};

double norm(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
}

double distance(std::vector<double> values, const std::vector<double>& truth) {
    REQUIRE(values.size() == truth.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= truth[i];
    return norm(values) / std::max(norm(truth), 1e-3);
}

std::map<std::string, Model> models() {
    GptConfig llama;
    llama.positions = Positions::kRotary;
    llama.norm = NormKind::kRmsNorm;
    llama.activation = mpt::Activation::kSwiglu;
    llama.bias = llama.tied_embeddings = false;
    return {{"gpt", [](GraphBuilder& b) { return small_gpt(b, {}); }},
            {"llama", [=](GraphBuilder& b) { return small_gpt(b, llama); }},
            {"transformer", small_transformer}};
}

}  // namespace

TEST_CASE("fused and unfused training graphs of Transformers agree", "[fuse]") {
    const std::string name = GENERATE("gpt", "llama", "transformer");
    const DType type = GENERATE(DType::f32, DType::f16, DType::bf16);
    CAPTURE(name, name_of(type));
    const Model model = models().at(name);
    const auto truth = Training(model, DType::f32, false).run();
    const auto plain = Training(model, type, false).run(), fused = Training(model, type, true).run();
    REQUIRE(fused.size() == plain.size());
    REQUIRE(plain.size() > 15);
    // Sums in another order in f32; fewer roundings in a narrow type.
    const double slack = type == DType::f32 ? 1e-5 : type == DType::f16 ? 1e-3 : 1e-2;
    for (const auto& [value, values] : plain) {
        CAPTURE(value);
        CHECK(distance(fused.at(value), truth.at(value)) <= 1.2 * distance(values, truth.at(value)) + slack);
    }
}

TEST_CASE("gradients of matrices and tables are computed in their buffers, activations where they are read") {
    for (const DType type : {DType::f32, DType::f16}) {
        const Training gpt(models().at("gpt"), type, true);
        CHECK(gpt.count(linear_backward_weight_op) + gpt.count(embedding_backward_op) == 0);
        CHECK(gpt.count(linear_backward_weight_accumulate_op) == 2 * 4 + 1);
        CHECK(gpt.count(embedding_backward_accumulate_op) == 1);
        CHECK(gpt.count(gelu_op) + gpt.count(gelu_backward_op) == 0);
        CHECK(gpt.count(add_op) == 0);
        CHECK(gpt.count(softmax_cross_entropy_op) == 1);
        for (const Node& node : gpt.graph.nodes)
            if (node.op == &softmax_cross_entropy_backward_op)
                CHECK(gpt.graph.type(node.outputs[0]).dtype == type);
        const Training transformer(models().at("transformer"), type, true);
        CHECK(transformer.count(linear_backward_weight_op) + transformer.count(embedding_backward_op) == 0);
        CHECK(transformer.count(relu_op) + transformer.count(relu_backward_op) == 0);
        const Training llama(models().at("llama"), type, true);
        CHECK(llama.count(swiglu_op) == 2);
        CHECK(llama.count(swiglu_backward_op) == 2);
        CHECK(llama.count(silu_op) + llama.count(multiply_op) == 0);
        CHECK(llama.count(add_rms_norm_op) == 4);
        CHECK(llama.count(rms_norm_backward_add_op) == 4);
    }
}

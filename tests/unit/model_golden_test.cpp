// Transformers against PyTorch: logits and gradients of small models from the same weights (tests/golden,
// made in f64), read through files with the other programs' names and shapes. Recomputed blocks give the same
// bits; narrow arithmetic comes near; dropout and initial values are what the papers say.
#include <catch2/catch.hpp>
#include <cmath>

#include "layers/token_loss.h"
#include "support/errors.h"
#include "support/golden_model.h"
#include "support/model_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

// Padded columns get no gradient, as from the loss.
void set_seed(ModelRun& model, const Json& logits) {
    const auto seed = model.executor().input<float>("seed");
    const std::size_t rows = logits.size(), columns = logits[0].size(), padded = seed.size() / rows;
    std::ranges::fill(seed, 0.0f);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            seed[r * padded + c] = golden_number("seed", static_cast<std::int64_t>(r * columns + c));
}

// The worst differences, as parts of the largest logit and of a gradient's norm.
struct Differences {
    double logits = 0, gradients = 0;
    std::string worst_gradient = {};
};

double difference_of_logits(const std::vector<float>& got, const Json& expected) {
    const std::size_t padded = got.size() / expected.size();
    double largest = 0, worst = 0;
    for (std::size_t r = 0; r < expected.size(); ++r)
        for (std::size_t c = 0; c < padded; ++c) {
            const double value = c < expected[r].size() ? expected[r][c].get<double>() : 0;
            largest = std::max(largest, std::abs(value));
            worst = std::max(worst, std::abs(static_cast<double>(got[r * padded + c]) - value));
        }
    return worst / largest;
}

double difference_of_gradient(const std::string& name, const std::vector<float>& got, const Json& expected) {
    const double norm = expected[0];
    double squares = 0, along = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double g = static_cast<double>(got[i]);
        squares += g * g;
        along += g * static_cast<double>(golden_number(name, static_cast<std::int64_t>(i)));
    }
    double worst =
        std::max(std::abs(std::sqrt(squares) - norm),
                 std::abs(along - expected[1].get<double>()) / std::sqrt(static_cast<double>(got.size())));
    for (std::size_t i = 2; i < expected.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(got[i - 2]) - expected[i].get<double>()));
    return worst / norm;
}

Differences compare(ModelRun& model, const Json& c) {
    set_seed(model, c["logits"]);
    model.run();
    Differences worst;
    worst.logits = difference_of_logits(model.get("result"), c["logits"]);
    const auto gradients = model.gradients();
    CHECK(gradients.size() == c["gradients"].size());
    for (const auto& [name, expected] : c["gradients"].items()) {
        REQUIRE(gradients.contains(name));
        const double difference = difference_of_gradient(name, gradients.at(name), expected);
        if (!(difference <= worst.gradients)) worst.gradients = difference, worst.worst_gradient = name;
    }
    return worst;
}

// Differentiated are the logits, or the loss.
enum class Of : std::uint8_t { kLogits, kLoss };

ValueId result_of(GraphBuilder& b, ValueId logits, const Json& c, Of of) {
    if (of == Of::kLogits) return logits;
    const ValueId targets = b.input("targets", {{b.type(logits).shape[0]}, DType::i32});
    const auto vocabulary = static_cast<std::int64_t>(c["logits"][0].size());
    return token_loss(b, logits, targets, {vocabulary, 0.1});
}

std::unique_ptr<ModelRun> gpt_run(const Json& c, ModelOptions options, GptConfig config,
                                  Of of = Of::kLogits) {
    options.kind = GraphKind::kTrain;
    auto model = std::make_unique<ModelRun>(
        [&](GraphBuilder& b) {
            const ValueId tokens = b.input("tokens", {shape_of(c["tokens"]), DType::i32});
            const ValueId step = config.training ? b.input("step", {{}, DType::i32}) : kNone;
            return result_of(b, gpt(b, {tokens, step}, config), c, of);
        },
        options);
    const ScratchFolder folder;
    write_golden_weights(folder / "w", c["shapes"], "");
    model->load(folder / "w");
    model->set("tokens", flat(c["tokens"]));
    return model;
}

std::unique_ptr<ModelRun> transformer_run(const Json& c, ModelOptions options, TransformerConfig config,
                                          Of of = Of::kLogits) {
    options.kind = GraphKind::kTrain;
    auto model = std::make_unique<ModelRun>(
        [&](GraphBuilder& b) {
            const ValueId source = b.input("source", {shape_of(c["source"]), DType::i32});
            const ValueId lengths = b.input("lengths", {{shape_of(c["source"])[0]}, DType::i32});
            const ValueId target = b.input("target", {shape_of(c["target"]), DType::i32});
            const ValueId step = config.training ? b.input("step", {{}, DType::i32}) : kNone;
            return result_of(b, transformer(b, {source, lengths, target, step}, config), c, of);
        },
        options);
    const ScratchFolder folder;
    write_golden_weights(folder / "w", c["shapes"], "transformer.");
    model->load(folder / "w");
    model->set("source", flat(c["source"]));
    model->set("lengths", c["lengths"].get<std::vector<std::int32_t>>());
    model->set("target", flat(c["target"]));
    return model;
}

// fp32 within rounding, recomputation to the bit, bf16 and f16 within theirs.
template <typename Make>
void check_case(const Json& c, const Make& make) {
    INFO(c["config"].dump());
    const auto plain = make(ModelOptions{});
    const Differences single = compare(*plain, c);
    INFO("worst: " << single.worst_gradient);
    CHECK(single.logits < 1e-5);
    CHECK(single.gradients < 1e-5);

    const auto recomputed = make(ModelOptions{.recompute_blocks = true});
    compare(*recomputed, c);
    CHECK(recomputed->get("result") == plain->get("result"));
    CHECK(recomputed->gradients() == plain->gradients());
    CHECK(recomputed->plan().graph.nodes.size() > plain->plan().graph.nodes.size());
    CHECK(recomputed->plan().kept_bytes < plain->plan().kept_bytes);

    for (const auto& [narrow, tolerance] : {std::pair(DType::bf16, 0.04), std::pair(DType::f16, 0.005)}) {
        const auto model = make(ModelOptions{.narrow = narrow});
        const Differences difference = compare(*model, c);
        INFO(name_of(narrow) << ", worst: " << difference.worst_gradient);
        CHECK(difference.logits < tolerance);
        CHECK(difference.gradients < tolerance);
    }
}

}  // namespace

TEST_CASE("a gpt has PyTorch's logits and gradients") {
    const Json file = golden("torch_gpt");
    CHECK(file["cases"].size() == 3);
    for (const Json& c : file["cases"])
        check_case(c,
                   [&](const ModelOptions& options) { return gpt_run(c, options, gpt_config(c["config"])); });
}

TEST_CASE("a transformer has PyTorch's logits and gradients") {
    const Json file = golden("torch_transformer");
    CHECK(file["cases"].size() == 3);
    for (const Json& c : file["cases"])
        check_case(c, [&](const ModelOptions& options) {
            return transformer_run(c, options, transformer_config(c["config"]));
        });
}

TEST_CASE("losses and their gradients are PyTorch's, with smoothing, padding and an ignored token") {
    const auto check = [](ModelRun& model, const Json& c) {
        INFO(c["config"].dump());
        model.set("targets", c["targets"].get<std::vector<std::int32_t>>());
        model.set<float>("seed", {1});
        model.run();
        CHECK(static_cast<double>(model.get("loss_sum")[0]) == Approx(c["loss"].get<double>()).epsilon(1e-5));
        for (const auto& [name, gradient] : model.gradients()) {
            INFO(name);
            double squares = 0;
            for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
            CHECK(std::sqrt(squares) == Approx(c["loss_norms"][name].get<double>()).epsilon(1e-5));
        }
    };
    const Json of_gpt = golden("torch_gpt"), of_transformer = golden("torch_transformer");
    for (const Json& c : of_gpt["cases"]) check(*gpt_run(c, {}, gpt_config(c["config"]), Of::kLoss), c);
    for (const Json& c : of_transformer["cases"])
        check(*transformer_run(c, {}, transformer_config(c["config"]), Of::kLoss), c);
}

TEST_CASE("files of GPT-2 load with the outer name, the masks and the tied matrix; ours have neither") {
    const Json c = golden("torch_gpt")["cases"][0];
    const auto model = gpt_run(c, {}, gpt_config(c["config"]));
    const ScratchFolder folder;
    write_golden_weights(folder / "hf", c["shapes"], "transformer.",
                         {{"h.0.attn.bias", {1, 1, 9, 9}}, {"h.1.attn.masked_bias", {}}});
    std::memset(model->view().region(Region::kMaster), 0xff,
                static_cast<std::size_t>(model->variables().region_bytes(Region::kMaster)));
    model->load(folder / "hf");
    CHECK(compare(*model, c).logits < 1e-5);

    write_tensors(folder / "ours", weight_tensors(model->view()));
    const SafetensorsFile ours(folder / "ours");
    CHECK(ours.tensors().size() == c["shapes"].size());
    for (const TensorEntry& entry : ours.tensors())
        CHECK(entry.shape == Shape(c["shapes"][entry.name].get<std::vector<std::int64_t>>()));

    write_golden_weights(folder / "more", c["shapes"], "",
                         {{"lm_head.weight", {11, 16}}, {"h.2.ln_1.weight", {16}}});
    const std::vector<Mismatch> more =
        compare_tensors(SafetensorsFile(folder / "more"), weight_tensors(model->view()), Conversion::kAny);
    REQUIRE(more.size() == 1);
    CHECK(more[0].tensor == "h.2.ln_1.weight");
}

TEST_CASE(
    "padded rows of a vocabulary are no parameters: not in files, zero after loading, without gradient") {
    const Json c = golden("torch_gpt")["cases"][0];
    const auto model = gpt_run(c, {}, gpt_config(c["config"]));
    compare(*model, c);
    const Variable& table = model->variables()[model->variables().find("wte.weight")];
    REQUIRE(table.shape == Shape{64, 16});
    CHECK(table.num_elements() == 11 * 16);
    std::int64_t in_files = 0;
    for (const auto& [name, dims] : c["shapes"].items())
        in_files += Shape(dims.get<std::vector<std::int64_t>>()).num_elements();
    CHECK(model->variables().num_parameters() == in_files);
    for (const Region region : {Region::kMaster, Region::kGradient}) {
        const auto* rows = reinterpret_cast<const float*>(model->view().region(region)) + table.offset;
        CHECK(std::all_of(rows + 11 * 16, rows + 64 * 16, [](float x) { return x == 0; }));
        CHECK(std::any_of(rows, rows + 11 * 16, [](float x) { return x != 0; }));
    }
}

TEST_CASE("dropout changes a model from step to step, and recomputation draws what the forward drew") {
    const Json g = golden("torch_gpt")["cases"][0], t = golden("torch_transformer")["cases"][0];
    GptConfig of_gpt = gpt_config(g["config"]);
    TransformerConfig of_transformer = transformer_config(t["config"]);
    of_gpt.training = of_transformer.training = true;
    of_gpt.dropout = of_transformer.dropout = 0.3;
    of_transformer.attention_dropout = 0.2;
    of_transformer.activation_dropout = 0.1;
    const auto check = [](ModelRun& plain, ModelRun& recomputed, const Json& c) {
        std::vector<std::vector<float>> results;
        for (const std::int32_t step : {1, 2, 1}) {
            plain.set<std::int32_t>("step", {step});
            recomputed.set<std::int32_t>("step", {step});
            CHECK(compare(plain, c).logits > 1e-2);
            compare(recomputed, c);
            CHECK(plain.gradients() == recomputed.gradients());
            results.push_back(plain.get("result"));
        }
        CHECK(results[0] == results[2]);
        CHECK(results[0] != results[1]);
    };
    check(*gpt_run(g, {}, of_gpt), *gpt_run(g, {.recompute_blocks = true}, of_gpt), g);
    check(*transformer_run(t, {}, of_transformer),
          *transformer_run(t, {.recompute_blocks = true}, of_transformer), t);
}

TEST_CASE("each dropout of an encoder-decoder acts alone, in training only") {
    const Json t = golden("torch_transformer")["cases"][0];
    const auto difference = [&](auto set, bool training) {
        TransformerConfig config = transformer_config(t["config"]);
        config.training = training;
        set(config);
        const auto run = transformer_run(t, {}, config);
        if (training) run->template set<std::int32_t>("step", {1});
        return compare(*run, t).logits;
    };
    const auto residual = [](TransformerConfig& c) { c.dropout = 0.3; };
    const auto attention = [](TransformerConfig& c) { c.attention_dropout = 0.3; };
    const auto activation = [](TransformerConfig& c) { c.activation_dropout = 0.3; };
    CHECK(difference(residual, true) > 1e-2);
    CHECK(difference(attention, true) > 1e-3);
    CHECK(difference(activation, true) > 1e-3);
    CHECK(difference(residual, false) < 1e-4);
    CHECK(difference(attention, false) < 1e-4);
    CHECK(difference(activation, false) < 1e-4);
}

TEST_CASE("initial values are the papers', and weight decay finds matrices") {
    GptConfig of_gpt = gpt_config(golden("torch_gpt")["cases"][0]["config"]);
    of_gpt.depth = 8;
    TransformerConfig of_transformer = transformer_config(golden("torch_transformer")["cases"][0]["config"]);
    const ModelRun model([&](GraphBuilder& b) {
        const ValueId tokens = b.input("tokens", {{2, 4}, DType::i32});
        const ValueId lengths = b.input("lengths", {{2}, DType::i32});
        transformer(b, {tokens, lengths, tokens}, of_transformer);
        return gpt(b, {tokens}, of_gpt);
    });
    using Kind = Initializer::Kind;
    struct Expected {
        const char* name;
        Role role;
        Kind kind;
        double value;
    };
    for (const Expected& e : {
             Expected{"wte.weight", Role::kEmbedding, Kind::kNormal, 0.02},
             Expected{"wpe.weight", Role::kEmbedding, Kind::kNormal, 0.02},
             Expected{"h.3.attn.c_attn.weight", Role::kMatrix, Kind::kNormal, 0.02},
             Expected{"h.3.attn.c_proj.weight", Role::kMatrix, Kind::kNormal, 0.02 / 4},  // sqrt(2 * 8)
             Expected{"h.3.mlp.c_proj.weight", Role::kMatrix, Kind::kNormal, 0.02 / 4},
             Expected{"h.3.mlp.c_fc.weight", Role::kMatrix, Kind::kNormal, 0.02},
             Expected{"h.3.mlp.c_fc.bias", Role::kBias, Kind::kConstant, 0},
             Expected{"ln_f.weight", Role::kNormGain, Kind::kConstant, 1},
             Expected{"ln_f.bias", Role::kNormBias, Kind::kConstant, 0},
             Expected{"embedding.weight", Role::kEmbedding, Kind::kNormal, 0.25},  // 16^-0.5
             Expected{"encoder.layers.0.self_attn.in_proj_weight", Role::kMatrix, Kind::kUniform,
                      std::sqrt(6.0 / (16 + 48))},
             Expected{"decoder.layers.1.multihead_attn.out_proj.weight", Role::kMatrix, Kind::kUniform,
                      std::sqrt(6.0 / (16 + 16))},
             Expected{"decoder.layers.1.linear1.weight", Role::kMatrix, Kind::kUniform,
                      std::sqrt(6.0 / (16 + 24))},
             Expected{"decoder.layers.1.multihead_attn.in_proj_bias", Role::kBias, Kind::kConstant, 0},
         }) {
        INFO(e.name);
        const int index = model.variables().find(e.name);
        REQUIRE(index >= 0);
        const Variable& variable = model.variables()[index];
        CHECK(variable.role == e.role);
        CHECK(variable.init.kind == e.kind);
        CHECK(static_cast<double>(variable.init.a) == Approx(e.value));
    }
}

TEST_CASE("sizes that do not fit together are told by their keys") {
    Graph graph;
    VariableTable variables;
    GraphBuilder b(graph, &variables);
    const ValueId tokens = b.input("tokens", {{2, 9}, DType::i32});
    const auto gpt_error = [&](const std::function<void(GptConfig&)>& change) {
        GptConfig config;
        change(config);
        return error_of(ExitCode::kUsage, [&] { gpt(b, {tokens}, config); });
    };
    CHECK_THAT(gpt_error([](GptConfig& c) { c.heads = 7; }),
               Catch::Contains("model.heads: 7 heads do not divide a width of 768"));
    CHECK_THAT(gpt_error([](GptConfig& c) { c.positions = Positions::kRotary, c.heads = 256; }),
               Catch::Contains("model.positions: rotary needs heads of an even size, not 3"));
    CHECK_THAT(gpt_error([](GptConfig& c) { c.context = 8; }),
               Catch::Contains("sequences of 9 tokens are longer than model.context, 8"));
    CHECK_THAT(gpt_error([](GptConfig& c) { c.depth = 0; }), Catch::Contains("model.depth"));

    const auto transformer_error = [&](const std::function<void(TransformerConfig&)>& change) {
        TransformerConfig config;
        config.source_vocabulary = config.target_vocabulary = 50;
        change(config);
        return error_of(ExitCode::kUsage, [&] { transformer(b, {tokens, tokens, tokens}, config); });
    };
    CHECK_THAT(transformer_error([](TransformerConfig& c) { c.target_vocabulary = 60; }),
               Catch::Contains("model.shared_embeddings: source and target have vocabularies of different "
                               "sizes, 50 and 60"));
    CHECK_THAT(transformer_error([](TransformerConfig& c) { c.activation = Activation::kSwiglu; }),
               Catch::Contains("model.activation"));
    CHECK_THAT(transformer_error([](TransformerConfig& c) { c.heads = 3; }), Catch::Contains("model.heads"));
}

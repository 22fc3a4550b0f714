// Products inside nodes, their grades, and the roofline, against figures worked out by hand.
#include <catch2/catch.hpp>

#include "forecast/roofline.h"
#include "graph/builder.h"
#include "ops/add/add.h"
#include "ops/attention/attention.h"
#include "ops/conv2d/conv2d.h"
#include "ops/linear/linear.h"

using namespace mpt;

namespace {

Product linear_of(std::int64_t rows, std::int64_t in, std::int64_t out, DType dtype = DType::f16) {
    Product p;
    p.m = p.batch = rows;
    p.n = p.out_features = out;
    p.k = p.in_features = in;
    p.operand = dtype;
    return p;
}

}  // namespace

TEST_CASE("a convolution is the product of its output pixels, channels and window") {
    Graph graph;
    GraphBuilder builder(graph);
    const ValueId x = builder.input("x", {{8, 56, 56, 64}, DType::f16});
    const ValueId w = builder.input("w", {{128, 3, 3, 64}, DType::f16});
    const ValueId y = conv2d(builder, x, w, {2, 1});
    conv2d_backward_data(builder, y, w, {2, 1, 56, 56});
    conv2d_backward_weight(builder, y, x, {2, 1, 3, 3});
    const double flops = 2.0 * 8 * 28 * 28 * 128 * 64 * 9;
    for (const Node& node : graph.nodes) {
        const std::vector<Product> products = products_of(graph, node);
        REQUIRE(products.size() == 1);
        CHECK(products[0].flops() == flops);
        CHECK(products[0].in_features == 64);
        CHECK(products[0].out_features == 128);
    }
    CHECK(products_of(graph, graph.nodes[0])[0].m == 8 * 28 * 28);
    CHECK(products_of(graph, graph.nodes[2])[0].k == 8 * 28 * 28);
}

TEST_CASE("linear layers and attention are products, additions are none") {
    Graph graph;
    GraphBuilder builder(graph);
    const ValueId x = builder.input("x", {{32, 100}, DType::f32});
    const ValueId w = builder.input("w", {{50, 100}, DType::f32});
    const ValueId y = linear(builder, x, w, kNone, "fc");
    add(builder, y, y, "sum");
    const ValueId q = builder.input("q", {{2, 16, 4, 8}, DType::f32});
    attention(builder, {q, q, q, kNone, kNone}, {}, "attention");
    CHECK(products_of(graph, graph.nodes[0])[0].flops() == 2.0 * 32 * 100 * 50);
    CHECK(products_of(graph, graph.nodes[1]).empty());
    CHECK(products_of(graph, graph.nodes[2])[0].flops() == 2 * 2.0 * 2 * 4 * 16 * 16 * 8);
}

TEST_CASE("grades follow the format's multiples and the generation") {
    const Gpu& a100 = find_gpu("A100");
    const auto grade_of = [&](const Product& p, ComputeFormat format, const Gpu& gpu) {
        return grade(p, format, gpu).grade;
    };
    const Product full = linear_of(256 * 54, 1024, 1024);
    CHECK(grade_of(full, ComputeFormat::kF16, a100) == Grade::kIdeal);
    CHECK(grade_of(full, ComputeFormat::kF32, a100) == Grade::kBlocked);
    // 1032 is a multiple of 8, not of 64: as good as can be on Volta, only good on Ampere.
    const Product eights = linear_of(256 * 40, 1032, 1024);
    CHECK(grade_of(eights, ComputeFormat::kF16, a100) == Grade::kGood);
    CHECK(grade_of(eights, ComputeFormat::kF16, find_gpu("V100")) == Grade::kIdeal);
    // 4 elements are 16 bytes in TF32, not in f16.
    const Product fours = linear_of(256 * 54, 1028, 1024);
    CHECK(grade_of(fours, ComputeFormat::kTf32, a100) == Grade::kGood);
    CHECK(grade_of(fours, ComputeFormat::kF16, a100) == Grade::kInefficient);
    CHECK(grade_of(linear_of(256 * 54, 1032, 1024), ComputeFormat::kFp8, find_gpu("H100")) ==
          Grade::kInefficient);
}

TEST_CASE("GPT-2's vocabulary is padded to 50304 and a picture's channels to 4") {
    const ProductGrade head = grade(linear_of(4096, 768, 50257), ComputeFormat::kBf16, find_gpu("A100"));
    CHECK(head.grade == Grade::kInefficient);
    CHECK(head.advice == "pad 50257 features out to 50304");
    CHECK(head.gain > 2);
    Product stem = linear_of(256 * 112 * 112, 3, 64);
    stem.source = Product::Source::kConvolution;
    stem.k = 147;
    stem.batch = 256;
    const ProductGrade first = grade(stem, ComputeFormat::kF16, find_gpu("A100"));
    CHECK(first.advice == "pad 3 features in to 4");
    CHECK(first.gain > 1);
}

TEST_CASE("tile and wave quantisation: 109 tiles on 108 SMs take two waves") {
    const Gpu& a100 = find_gpu("A100");
    const Product one_wave = linear_of(256 * 108, 256, 128), two_waves = linear_of(256 * 109, 256, 128);
    CHECK(grade(one_wave, ComputeFormat::kF16, a100).wave_use == 1);
    CHECK(grade(one_wave, ComputeFormat::kF16, a100).tile_use == 1);
    CHECK(grade(two_waves, ComputeFormat::kF16, a100).efficiency < 0.95);
}

TEST_CASE("operands a GPU cannot multiply are multiplied in f32") {
    CHECK(compute_format(DType::bf16, Tf32::kOff, find_gpu("V100")) == ComputeFormat::kF32);
    CHECK(compute_format(DType::bf16, Tf32::kOff, find_gpu("A100")) == ComputeFormat::kBf16);
    CHECK(compute_format(DType::f32, Tf32::kOn, find_gpu("T4")) == ComputeFormat::kF32);
    CHECK(compute_format(DType::f32, Tf32::kOn, find_gpu("A100")) == ComputeFormat::kTf32);
    CHECK(compute_format(DType::f32, Tf32::kOff, find_gpu("A100")) == ComputeFormat::kF32);
}

TEST_CASE("the rule batch = max(8, 2^n) is for the micro-batch") {
    CHECK(batch_rule(1, 1).next == 8);
    CHECK_FALSE(batch_rule(4, 1).obeys);
    CHECK(batch_rule(8, 1).obeys);
    CHECK(batch_rule(64, 8).obeys);
    CHECK_FALSE(batch_rule(96, 1).obeys);
    CHECK(batch_rule(96, 1).next == 128);
    CHECK_THAT(batch_rule(96, 1).sentence, Catch::Contains("as good"));
    CHECK_THAT(batch_rule(100, 1).sentence, Catch::Contains("104 or 128"));
    CHECK_THAT(batch_rule(16, 4).sentence, Catch::Contains("not for the batch of an update"));
}

TEST_CASE("the roofline takes the slower of arithmetic and memory") {
    Graph graph;
    GraphBuilder builder(graph);
    const ValueId a = builder.input("a", {{1 << 14, 1 << 14}, DType::f32});
    add(builder, a, a, "sum");
    const ValueId product = linear(builder, a, a, kNone, "square");
    add(builder, product, product, "sum2");
    SustainedRates rates;
    rates.f32 = rates.bandwidth = 1;
    rates.launch_us = 0;
    const Gpu& gpu = find_gpu("V100");
    const GraphForecast out = forecast(graph, work_of(graph), gpu, Tf32::kOff, rates);
    const double elements = 1 << 28;
    CHECK(out.nodes[0].ms == Approx(1e3 * 12 * elements / 900e9));  // two reads, a write of 4 bytes
    CHECK(out.nodes[0].bound == Bound::kMemory);
    CHECK(out.nodes[1].bound == Bound::kCompute);
    const double ideal = 1e3 * 2 * elements * (1 << 14) / 15.7e12;
    CHECK(out.nodes[1].ms >= ideal);
    CHECK(out.nodes[1].ms < ideal * 1.1);  // quantisation alone
}

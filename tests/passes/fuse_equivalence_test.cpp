// The fused graph computes what the unfused one does: every output, gradient and running statistic, through
// reference kernels. The unfused graph in f32 is the truth for both.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/philox.h"
#include "support/fused_network.h"
#include "support/graph_run.h"

using namespace mpt;
using namespace mpt::test;

namespace {

struct NetworkCase {
    std::string name;
    Shape images;
    FusedNetwork::Body body;
};

ValueId stem(GraphBuilder& b, ValueId x) {
    return conv_norm_relu(b, x, {8, 3, 1, 1}, "conv1", "bn1");
}

std::vector<NetworkCase> network_cases() {
    return {
        {"basic block behind a stem",
         {3, 6, 6, 3},
         [](GraphBuilder& b, ValueId x) { return residual_block(b, stem(b, x), {}, "block"); }},
        {"bottleneck block",
         {3, 5, 5, 8},
         [](GraphBuilder& b, ValueId x) {
             return residual_block(b, x, {.channels = 8, .bottleneck = true}, "block");
         }},
        {"stem and max pool",
         {3, 9, 9, 3},
         [](GraphBuilder& b, ValueId x) {
             const ValueId y = conv_norm_relu(b, x, {8, 7, 2, 3}, "conv1", "bn1");
             return residual_block(b, max_pool(b, y, {3, 2, 1}, "maxpool").y, {}, "block");
         }},
        {"two blocks, the second with a projection",
         {3, 6, 6, 3},
         [](GraphBuilder& b, ValueId x) {
             const ValueId y = residual_block(b, stem(b, x), {}, "block1");
             return residual_block(b, y, {.channels = 16, .stride = 2, .projection = true}, "block2");
         }},
        {"three bottlenecks, the first with a projection",
         {2, 6, 6, 3},
         [](GraphBuilder& b, ValueId x) {
             ValueId y = stem(b, x);
             y = residual_block(b, y, {.channels = 16, .projection = true, .bottleneck = true}, "block1");
             y = residual_block(b, y, {.channels = 16, .bottleneck = true}, "block2");
             return residual_block(b, y, {.channels = 16, .bottleneck = true}, "block3");
         }},
        {"norms without an activation",
         {3, 6, 6, 3},
         [](GraphBuilder& b, ValueId x) {
             const ValueId y = conv_norm(b, x, {8, 3, 1, 1}, "conv1", "bn1");
             return conv_norm(b, y, {8, 3, 1, 1}, "conv2", "bn2");
         }},
    };
}

// Values of inputs and variables, the same for every graph of a network: drawn by name.
std::vector<double> drawn(const std::string& name, std::int64_t count, double low, double high) {
    std::uint64_t key = 0;
    for (const char c : name) key = key * 131 + static_cast<unsigned char>(c);
    RandomStream random(11, RandomPurpose::kSynthetic, key);
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(low + (high - low) * static_cast<double>(random.uniform()));
    return values;
}

using Results = std::map<std::string, std::vector<double>>;

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

Results results_of(const FusedNetwork& network) {
    GraphRun run(network.graph, willing_kernels());
    for (std::size_t v = 0; v < network.graph.values.size(); ++v) {
        const Value& value = network.graph.values[v];
        const auto id = static_cast<ValueId>(v);
        const std::int64_t count = value.type.shape.num_elements();
        if (id == network.seed)
            run.set(id, {0.25});
        else if (id == network.labels) {
            std::vector<double> labels;
            for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<double>(i % 3));
            run.set(id, labels);
        } else if (value.kind == ValueKind::kInput) {
            run.set(id, drawn(value.name, count, -1, 1));
        } else if (value.kind == ValueKind::kStored) {
            const bool positive = value.type.shape.rank() == 1 && !ends_with(value.name, "bias");
            const double fan =
                value.type.shape.rank() == 4 ? static_cast<double>(count / value.type.shape[0]) : 4.0;
            const double bound = std::sqrt(3 / fan);
            run.set(id, drawn(value.name, count, positive ? 0.5 : -bound, positive ? 1.5 : bound));
        }
    }
    run.run();
    Results results;
    for (const Graph::Output& output : network.graph.outputs) results[output.name] = run.get(output.value);
    for (std::size_t v = 0; v < network.graph.values.size(); ++v) {
        const Value& value = network.graph.values[v];
        if (value.kind == ValueKind::kStored &&
            (value.store->region == Region::kGradient || value.store->region == Region::kStatistics))
            results[value.name] = run.get(static_cast<ValueId>(v));
    }
    return results;
}

double norm(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
}

// |results - truth| over |truth|, of one tensor.
double distance(const Results& results, const Results& truth, const std::string& name) {
    std::vector<double> difference = results.at(name);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= truth.at(name)[i];
    return norm(difference) / std::max(norm(truth.at(name)), 1e-3);
}

// Trained in `type`, with and without the rewrites that `kernels` make; returns the fused graph.
Graph check_agreement(const NetworkCase& c, DType type, const KernelTable& kernels) {
    FusedNetwork exact(c.images, c.body), plain(c.images, c.body), fused(c.images, c.body);
    for (FusedNetwork* network : {&exact, &plain, &fused}) {
        network->train();
        network->narrow(network == &exact ? DType::f32 : type);
    }
    fused.fuse_with(kernels);
    const Results truth = results_of(exact), before = results_of(plain), after = results_of(fused);
    REQUIRE(before.size() == after.size());
    REQUIRE(before.size() > 10);
    // f32: sums in another order. Narrow: fusing leaves out roundings, so it is about as far from the truth.
    const double slack = type == DType::f32 ? 2e-5 : type == DType::f16 ? 2e-3 : 2e-2;
    for (const auto& [name, values] : before) {
        if (name.rfind("hits", 0) == 0 && type != DType::f32) continue;  // a tie may fall either way
        CAPTURE(name);
        CHECK(distance(after, truth, name) <= 1.5 * distance(before, truth, name) + slack);
    }
    return fused.graph;
}

}  // namespace

TEST_CASE("fused and unfused training graphs agree", "[fuse]") {
    const std::size_t index = GENERATE(0u, 1u, 2u, 3u, 4u, 5u);
    const DType type = GENERATE(DType::f32, DType::f16, DType::bf16);
    const NetworkCase c = network_cases()[index];
    CAPTURE(c.name, name_of(type));
    check_agreement(c, type, willing_kernels());
}

TEST_CASE("batch norms that a library runs whole agree with their parts", "[fuse]") {
    // Not joined are those of a sum with a second norm, forward, and whose sums come with a mask, backward.
    struct Case {
        std::size_t index;
        int forward, backward;
    };
    const Case joined = GENERATE(Case{0, 2, 0}, Case{1, 3, 0}, Case{3, 3, 0}, Case{4, 9, 0}, Case{5, 2, 2});
    const DType type = GENERATE(DType::f32, DType::f16, DType::bf16);
    const NetworkCase c = network_cases()[joined.index];
    CAPTURE(c.name, name_of(type));
    const Graph fused = check_agreement(c, type, norm_library_kernels());
    const auto count = [&](std::string_view op) {
        return std::ranges::count_if(fused.nodes,
                                     [&](const Node& n) { return n.op != nullptr && n.op->name == op; });
    };
    CHECK(count("batch_norm_add_relu") == joined.forward);
    CHECK(count("batch_norm_backward_fused") == joined.backward);
}

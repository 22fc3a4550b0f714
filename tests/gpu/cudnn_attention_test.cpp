// Plans of cuDNN for the attention of GPT-2 124M (batch 16, T 1024, packed q, k and v) and of a padded batch,
// for GPUs that are not there. What has no plan runs on our own tiles. The table is golden text.
#include "backends/cuda/device/cudnn_attention.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "ops/attention/attention_tile_shape.h"
#include "support/cudnn_targets.h"

using namespace mpt;
using namespace mpt::gpu;

namespace {

struct Case {
    const char* name;
    bool backward, causal, lengths;
    SumOrder order;
};
constexpr Case kCases[] = {{"forward causal", false, true, false, SumOrder::kAny},
                           {"forward padded", false, false, true, SumOrder::kAny},
                           {"forward causal padded", false, true, true, SumOrder::kAny},
                           {"backward causal", true, true, false, SumOrder::kAny},
                           {"backward padded", true, false, true, SumOrder::kAny},
                           {"backward causal padded", true, true, true, SumOrder::kAny},
                           {"backward causal, sums in one order", true, true, false, SumOrder::kFixed}};

AttentionSpec gpt2(const Case& c, DType dtype) {
    AttentionSpec s;
    s.backward = c.backward;
    s.batch = 16, s.heads = 12, s.queries = s.keys = 1024, s.size = 64;
    s.q_row = s.k_row = s.v_row = 3 * s.heads * s.size;
    s.causal = c.causal, s.lengths = c.lengths;
    s.dtype = dtype;
    return s;
}

// The kernel of ours that takes what cuDNN refuses, by the shared memory of that GPU.
std::string own_kernel(const std::string& arch, const Case& c) {
    const auto device = nlohmann::json::parse(test::device_text(arch));
    const AttentionTile* tile =
        fitting_attention_tile(c.backward ? AttentionPass::kBackward : AttentionPass::kForward, 64,
                               device.at("maxSharedMemoryPerBlockOptin").get<std::int64_t>());
    return tile == nullptr ? "own rows"
                           : "own tiles of " + std::to_string(tile->queries) + " queries x " +
                                 std::to_string(tile->keys) + " keys";
}

std::string line_of(const CudnnTarget& target, const std::string& arch, const Case& c, DType dtype) {
    CudnnGraph graph;
    add_attention(graph, gpt2(c, dtype), c.order);
    std::string refusal;
    const std::vector<CudnnPlan> plans =
        graph.plans(target, {.workspace_bytes = std::int64_t{1} << 30}, &refusal);
    return arch + " " + std::string(name_of(dtype)) + " " + c.name + ": " +
           (plans.empty() ? own_kernel(arch, c) + " (" + refusal + ")"
                          : plans.front().description() + ", workspace " +
                                std::to_string(plans.front().workspace_bytes) + " B") +
           "\n";
}

}  // namespace

TEST_CASE("attention of GPT-2 124M has a plan of cuDNN or our own tiles, on every architecture") {
    if (!test::load_fake_driver() || cudnn_version_text() == "none") {
        WARN("SKIPPED: cuDNN cannot be loaded");
        return;
    }
    std::string table;
    for (const char* arch : test::kArchitectures) {
        const CudnnTarget target = test::cudnn_target(arch);
        for (const DType dtype : {DType::f16, DType::bf16})
            for (const Case& c : kCases) table += line_of(target, arch, c, dtype);
    }
    test::check_golden_plans("cudnn_attention", table);
}

// Plans of cuDNN for the attention of GPT-2 124M (batch 16, T 1024, packed q, k and v) and of a padded batch,
// for GPUs that are not there: cuDNN's first choice within the workspace that a run allows by default. What
// has no plan runs on our own tiles; sums in one order are those of `deterministic: true`. The table is
// golden text.
#include "backends/cuda/device/cudnn_attention.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "ops/attention/attention_tile_shape.h"
#include "support/kernels_text.h"
#include "support/planning_device.h"
#include "support/twin_text_tasks.h"
#include "train/program_graphs.h"
#include "train/run_device.h"

using namespace mpt;
using namespace mpt::gpu;

namespace {

struct Case {
    const char* name;
    bool backward, causal, lengths;
    SumOrder order;
    std::int64_t workspace_mib = RunConfig().autotune.workspace_mib;
};
const Case kCases[] = {
    {"forward causal", false, true, false, SumOrder::kAny},
    {"forward padded", false, false, true, SumOrder::kAny},
    {"forward causal padded", false, true, true, SumOrder::kAny},
    {"backward causal", true, true, false, SumOrder::kAny},
    {"backward padded", true, false, true, SumOrder::kAny},
    {"backward causal padded", true, true, true, SumOrder::kAny},
    {"backward causal, sums in one order", true, true, false, SumOrder::kFixed},
    {"backward causal, sums in one order, with 512 MiB", true, true, false, SumOrder::kFixed, 512}};

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
    const auto device = nlohmann::json::parse(test::device_json(arch));
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
    const std::vector<CudnnPlan> plans = graph.plans(
        target, {.deterministic = c.order == SumOrder::kFixed, .workspace_bytes = c.workspace_mib << 20},
        &refusal);
    return arch + " " + std::string(name_of(dtype)) + " " + c.name + ": " +
           (plans.empty() ? own_kernel(arch, c) + " (" + refusal + ")"
                          : plans.front().description() + ", workspace " +
                                std::to_string(plans.front().workspace_bytes) + " B") +
           "\n";
}

// What GPT-2's graph of a micro-step runs on, and what the program asks for in passing: no lengths, packed.
std::string run_text(const std::string& arch, PrecisionMode mode, bool deterministic) {
    test::PlanningDevice device(arch, {});
    gpu::DeviceSettings settings = device.settings();
    settings.deterministic = deterministic;
    device.set(settings);
    const std::string name =
        arch + " " + std::string(name_of(mode)) + " GPT-2 124M" + (deterministic ? ", deterministic" : "");
    if (!runs_mode(&device, mode)) return name + ": no such run\n";
    const gpu::DeviceScope scope(&device);
    test::TwinTask task = test::gpt_task(mode);
    ModelConfig& model = task.config.model;
    model.depth = 12, model.width = 768, model.heads = 12, model.context = 1024;
    model.vocabulary_size = task.data.vocabulary = 50257;
    task.data.micro_batch = {.rows = 16, .length = 1024};
    VariableTable variables;
    const CompiledGraph compiled = micro_step_graph(
        {task.config, task.data, variables, cuda_kernels(), 1, nullptr}, task.data.micro_batch);
    return name + "\n" + test::kernels_text(compiled.graph);
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
        for (const PrecisionMode mode : {PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16})
            for (const bool deterministic : {false, true}) table += run_text(arch, mode, deterministic);
    }
    test::check_golden_plans("cudnn_attention", table);
}

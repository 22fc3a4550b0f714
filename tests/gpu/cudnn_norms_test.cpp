// Plans of cuDNN for the batch norms and pools of ResNet-50 (batch 256, 224 x 224), for GPUs that are not
// there: the first within the workspace that a run allows by default. They are candidates beside kernels of
// ours, which run where cuDNN has no plan, where nothing was timed and where they were faster. The first
// table asks for every norm and pool; the second one says what is asked in the program's own graphs, and what
// they are made of where cuDNN was the faster one: norms whose sums a convolution takes are not asked for.
// Both are golden text; MPT_TRUE_COMPILER=1 asks the true compiler of engines that are compiled as they are
// planned.
#include <catch2/catch.hpp>

#include "graph/gpu_kernels.h"
#include "support/kernels_text.h"
#include "support/planning_device.h"
#include "support/twin_training.h"
#include "train/program_graphs.h"
#include "train/run_device.h"

using namespace mpt;
using namespace mpt::gpu;

namespace {

struct Normed {
    std::int64_t side, channels;
};
const Normed kNormed[] = {{112, 64}, {56, 64},  {56, 128}, {56, 256},  {28, 128}, {28, 256},
                          {28, 512}, {14, 256}, {14, 512}, {14, 1024}, {7, 512},  {7, 2048}};

struct Pattern {
    const char* name;
    bool backward, add, relu;
};
const Pattern kPatterns[] = {{"forward", false, false, false},
                             {"forward relu", false, false, true},
                             {"forward add relu", false, true, true},
                             {"backward", true, false, false}};

struct Asked {
    test::Tally engines;
    std::size_t plans = 0, asked = 0;
    std::int64_t workspace = 0;
    std::string refusal;

    void ask(CudnnGraph& graph, const CudnnTarget& target) {
        PlanWishes wishes;
        wishes.deterministic = RunConfig().deterministic;
        wishes.workspace_bytes = RunConfig().autotune.workspace_mib << 20;
        const std::vector<CudnnPlan> found = graph.plans(target, wishes, &refusal);
        ++asked;
        if (found.empty()) return;
        ++plans;
        engines.count(found.front().description() + (found.front().deterministic ? "" : ", in any order"));
        workspace = std::max(workspace, found.front().workspace_bytes);
    }
    std::string text(const std::string& what, const std::string& own) const {
        std::string line = "  " + what + ": " + std::to_string(plans) + " of " + std::to_string(asked);
        if (plans > 0)
            line += " by " + engines.text() + "; workspace up to " + std::to_string(workspace) + " B";
        return line + (plans < asked ? "; else " + own + " (" + refusal + ")\n" : "\n");
    }
};

std::string norms_text(const CudnnTarget& target, DType dtype) {
    std::string text;
    for (const Pattern& pattern : kPatterns) {
        Asked asked;
        for (const Normed& normed : kNormed) {
            NormSpec spec;
            spec.backward = pattern.backward, spec.add = pattern.add, spec.relu = pattern.relu;
            spec.n = 256, spec.h = spec.w = normed.side, spec.c = normed.channels;
            spec.dtype = dtype;
            CudnnGraph graph;
            add_norm(graph, spec);
            asked.ask(graph, target);
        }
        text += asked.text(std::string("batch norm ") + pattern.name, "our own kernels");
    }
    return text;
}

std::string pools_text(const CudnnTarget& target, DType dtype) {
    std::string text;
    for (const bool average : {false, true})
        for (const bool backward : {false, true}) {
            PoolSpec spec;
            spec.average = average, spec.backward = backward, spec.dtype = dtype;
            spec.n = 256, spec.h = spec.w = average ? 7 : 112, spec.c = average ? 2048 : 64;
            spec.window_h = spec.window_w = average ? 7 : 3;
            spec.p = spec.q = average ? 1 : 56;
            if (!average) spec.stride = 2, spec.pad = 1, spec.affine = spec.relu = !backward;
            CudnnGraph graph;
            add_pool(graph, spec);
            Asked asked;
            asked.ask(graph, target);
            text += asked.text(text_of(spec), "our own kernel");
        }
    return text;
}

std::string program_text(const std::string& arch, PrecisionMode mode,
                         const std::set<std::string>& uncompilable) {
    std::string text = arch + " " + std::string(name_of(mode)) + "\n";
    test::PlanningDevice device(arch, uncompilable);
    DeviceSettings settings = device.settings();
    settings.tf32 = mode == PrecisionMode::kTf32;
    device.set(settings);
    if (!runs_mode(&device, mode)) return text + "  no such run\n";
    device.cudnn_is_faster = true;
    const DeviceScope scope(&device);
    test::TwinTask task = test::image_task(mode, 50, 224, 256);
    task.config.model.num_classes = task.data.num_classes = 1000;
    VariableTable variables;
    const CompiledGraph compiled = micro_step_graph(
        {task.config, task.data, variables, cuda_kernels(), 1, nullptr}, task.data.micro_batch);
    for (const auto& beside : device.besides()) {
        text += "  asked " + beside.what + ": ";
        if (beside.engine.empty())
            text += "our own kernel (" + beside.refusal + ")\n";
        else
            text += beside.engine + ", workspace " + std::to_string(beside.workspace_bytes) + " B\n";
    }
    // Norms and pools only: the rest is in other tables.
    std::istringstream lines(test::kernels_text(compiled.graph));
    for (std::string line; std::getline(lines, line);)
        if (line.find("batch_norm") != std::string::npos || line.find("pool") != std::string::npos)
            text += line + "\n";
    return text;
}

bool can_plan() {
    if (test::load_fake_driver() && cudnn_version_text() != "none") return true;
    WARN("SKIPPED: cuDNN cannot be loaded");
    return false;
}

}  // namespace

TEST_CASE(
    "every batch norm and pool of ResNet-50 has a plan of cuDNN or our own kernels, on every architecture") {
    if (!can_plan()) return;
    std::string table;
    for (const char* arch : test::kArchitectures)
        for (const DType dtype : {DType::f16, DType::bf16, DType::f32})
            table += std::string(arch) + " " + std::string(name_of(dtype)) + "\n" +
                     norms_text(test::cudnn_target(arch), dtype) +
                     pools_text(test::cudnn_target(arch), dtype);
    test::check_golden_plans("cudnn_norms", table);
}

TEST_CASE("norms and pools of ResNet-50's graph that cuDNN is asked for, and what runs where it is faster") {
    if (!can_plan()) return;
    std::map<std::string, std::set<std::string>> uncompilable = test::uncompilable();
    std::string table;
    for (const char* arch : test::kArchitectures)
        for (const PrecisionMode mode :
             {PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16, PrecisionMode::kFp32})
            table += program_text(arch, mode, uncompilable[arch]);
    test::check_golden_plans("cudnn_norms_of_resnet50", table);
}

TEST_CASE("windows whose places exceed cuDNN's type run on our own kernels") {
    PoolSpec spec;
    spec.window_h = spec.window_w = 11;
    CHECK(refusal_of(spec).empty());
    spec.window_h = spec.window_w = 12;
    CHECK(refusal_of(spec) == "counts places in i8, which ends at 128");
}

// What the program makes of ResNet-50 (batch 256, 224 x 224) on GPUs that are not there: its graph of a
// micro-step is fused with the kernels for GPUs, which ask cuDNN for plans. The golden table says, for each
// architecture and type, which convolutions it asked for with which fusions, cuDNN's first engines (where
// autotune measures, one of the next may be faster) and workspaces, what happens where there is none, and
// which kernels run in the end.
//
// Engines that cuDNN compiles as it plans take seconds each, most of them the compiler's: a fake one says yes
// (gpu/fake_compiler.c), and cudnn_uncompilable_<version>.txt lists what the true one refuses. Both are
// written anew, with the true one and in some six minutes of a core, by
//   MPT_UPDATE_GOLDEN=1 MPT_TRUE_COMPILER=1 ./tests/gpu_tests "-#" "[#cudnn_fusions_test]"
#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/gpu_kernels.h"
#include "support/kernels_text.h"
#include "support/planning_device.h"
#include "support/twin_training.h"
#include "train/program_graphs.h"
#include "train/run_device.h"

using namespace mpt;

namespace {

// What runs where a pattern has no plan: the library is asked for less, our own kernels do the rest.
std::string instead_of(const gpu::ConvolutionSpec& spec) {
    const gpu::ConvolutionFusion& f = spec.fusion;
    if (f.reductions) return "sums with a reference";
    if (f.references > 0) return "without sums, and our own channel_reductions";
    if (spec.kind == gpu::ConvolutionKind::kBackwardData && f.affine)
        return "a mask of the activation, which our own channel_affine stores";
    if (f.affine) return "what our own channel_affine stores";
    if (f.statistics) return "our own channel_statistics";
    if (f.mask) return "our own relu_backward_reductions";
    return f.add ? "our own add" : "our own convolution";
}

// One pattern: how many of its convolutions have plans, which, and what is done about the others.
std::string asked_text(const std::vector<test::PlanningDevice::Answer>& answers, const std::string& pattern) {
    test::Tally engines;
    std::set<std::string> refused;
    std::size_t asked = 0, planned = 0, workspace = 0;
    std::string instead;
    for (const auto& [spec, plan, code_refused] : answers) {
        if (test::SpecWords(spec).pattern != pattern) continue;
        ++asked;
        if (plan) {
            ++planned;
            engines.count(plan.description);
            workspace = std::max(workspace, plan.workspace_bytes);
        } else {
            refused.insert(gpu::text_of(spec) + (code_refused ? " (its code does not compile)" : ""));
            instead = instead_of(spec);
        }
    }
    std::string text = "  asked " + pattern + ": " + std::to_string(planned) + " of " + std::to_string(asked);
    if (planned > 0)
        text += " by " + engines.text() + "; workspace up to " +
                std::to_string((workspace + (1 << 20) - 1) >> 20) + " MiB";
    text += "\n";
    if (planned == asked) return text;
    text += "    else " + instead;
    if (planned > 0)
        for (const std::string& line : refused) text += "\n      " + line;
    return text + "\n";
}

std::string asked_text(const std::vector<test::PlanningDevice::Answer>& answers) {
    std::vector<std::string> patterns;
    std::string text;
    for (const auto& answer : answers) {
        const std::string pattern = test::SpecWords(answer.spec).pattern;
        if (std::ranges::find(patterns, pattern) != patterns.end()) continue;
        patterns.push_back(pattern);
        text += asked_text(answers, pattern);
    }
    return text;
}

struct Table {
    std::string text;
    std::string uncompilable;
};

void add_run(Table& table, const std::string& arch, PrecisionMode mode,
             const std::set<std::string>& uncompilable) {
    test::PlanningDevice device(arch, uncompilable);
    table.text += arch + " " + std::string(name_of(mode)) + "\n";
    if (!runs_mode(&device, mode)) {
        table.text += "  no such run: it is refused, or with precision.fallback in f32\n";
        return;
    }
    const gpu::DeviceScope scope(&device);
    test::TwinTask task = test::image_task(mode, 50, 224, 256);
    task.config.model.num_classes = task.data.num_classes = 1000;
    VariableTable variables;
    const CompiledGraph compiled = micro_step_graph(
        {task.config, task.data, variables, cuda_kernels(), 1, nullptr}, task.data.micro_batch);
    table.text += asked_text(device.answers()) + test::kernels_text(compiled.graph);
    std::set<std::string> refused;
    for (const auto& answer : device.answers())
        if (answer.code_refused) refused.insert(test::SpecWords(answer.spec).both());
    for (const std::string& words : refused) table.uncompilable += arch + " " + words + "\n";
}

}  // namespace

TEST_CASE("every convolution of ResNet-50 has a plan of cuDNN with its fusions, or a named way without") {
    if (!test::load_fake_driver() || gpu::cudnn_version_text() == "none") {
        WARN("SKIPPED: cuDNN cannot be loaded");
        return;
    }
    std::map<std::string, std::set<std::string>> uncompilable = test::uncompilable();
    Table table;
    for (const char* arch : test::kArchitectures)
        for (const PrecisionMode mode : {PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16})
            add_run(table, arch, mode, uncompilable[arch]);
    if (test::true_compiler()) test::check_golden_plans("cudnn_uncompilable", table.uncompilable);
    test::check_golden_plans("cudnn_fusions", table.text);
}

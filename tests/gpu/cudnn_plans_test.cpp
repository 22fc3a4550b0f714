// Plans of cuDNN for every convolution of ResNet-50 (batch 256, 224 x 224), for GPUs that are not there: from
// descriptions of their properties (tests/golden/cudnn_devices, approximate), as a run asks for them by
// default (deterministic: false, autotune.workspace_mib: 256). What has no plan runs on our own kernel. The
// table is golden text; MPT_UPDATE_GOLDEN=1 writes it anew. That an engine which cuDNN compiles as it plans
// does compile is asked by MPT_TRUE_COMPILER=1.
#include <catch2/catch.hpp>

#include "support/planning_device.h"
#include "train/run_device.h"

using namespace mpt;
using namespace mpt::gpu;

namespace {

struct Layer {
    std::int64_t in, out, kernel, stride, side;  // channels, square kernel, size of the input
};
const std::vector<Layer> kLayers = {
    {3, 64, 7, 2, 224},     {64, 64, 1, 1, 56},    {64, 64, 3, 1, 56},    {64, 256, 1, 1, 56},
    {256, 64, 1, 1, 56},    {256, 128, 1, 1, 56},  {128, 128, 3, 2, 56},  {128, 512, 1, 1, 28},
    {256, 512, 1, 2, 56},   {512, 128, 1, 1, 28},  {128, 128, 3, 1, 28},  {512, 256, 1, 1, 28},
    {256, 256, 3, 2, 28},   {256, 1024, 1, 1, 14}, {512, 1024, 1, 2, 28}, {1024, 256, 1, 1, 14},
    {256, 256, 3, 1, 14},   {1024, 512, 1, 1, 14}, {512, 512, 3, 2, 14},  {512, 2048, 1, 1, 7},
    {1024, 2048, 1, 2, 14}, {2048, 512, 1, 1, 7},  {512, 512, 3, 1, 7}};

ConvolutionSpec spec_of(const Layer& l, ConvolutionKind kind, PrecisionMode mode) {
    ConvolutionSpec s;
    s.kind = kind;
    s.n = 256, s.h = s.w = l.side, s.c = l.in, s.k = l.out, s.r = s.s = l.kernel;
    s.stride = l.stride, s.pad = l.kernel / 2;
    s.p = s.q = (l.side + 2 * s.pad - l.kernel) / l.stride + 1;
    s.dtype = mode == PrecisionMode::kAmpFp16   ? DType::f16
              : mode == PrecisionMode::kAmpBf16 ? DType::bf16
                                                : DType::f32;
    s.tf32 = mode == PrecisionMode::kTf32;
    // Images come padded (ops/image_normalize/rewrites.cpp).
    if (l.in == 3 && s.dtype != DType::f32) s.c = s.dtype == DType::f16 ? 4 : 8;
    return s;
}

// One line: how many layers have a plan, the most workspace, and those without one.
std::string line_of(const CudnnTarget& target, const std::string& arch, ConvolutionKind kind,
                    PrecisionMode mode) {
    std::size_t planned = 0, on_tensor_cores = 0, compiled = 0;
    std::int64_t workspace = 0;
    std::string without;
    for (const Layer& layer : kLayers) {
        if (kind == ConvolutionKind::kBackwardData && layer.in == 3) continue;  // nobody needs it
        CudnnGraph graph;
        add_convolution(graph, spec_of(layer, kind, mode));
        PlanWishes wishes;
        wishes.deterministic = false;
        wishes.tensor_cores = mode != PrecisionMode::kFp32;
        std::string refusal;
        const std::vector<CudnnPlan> plans = graph.plans(target, wishes, &refusal);
        if (plans.empty()) {
            without += "\n    own kernel: " + text_of(spec_of(layer, kind, mode));
            continue;
        }
        ++planned;
        on_tensor_cores += plans.front().tensor_core ? 1 : 0;
        compiled += plans.front().compiled_at_runtime ? 1 : 0;
        workspace = std::max(workspace, plans.front().workspace_bytes);
    }
    if (planned == 0) without = "\n    own kernel for all of them";
    const char* name = kind == ConvolutionKind::kForward        ? "forward"
                       : kind == ConvolutionKind::kBackwardData ? "backward_data"
                                                                : "backward_weight";
    return arch + " " + std::string(name_of(mode)) + " " + name + ": " + std::to_string(planned) +
           " planned, " + std::to_string(on_tensor_cores) + " on Tensor Cores, " + std::to_string(compiled) +
           " compiled at run time, workspace up to " + std::to_string((workspace + (1 << 20) - 1) >> 20) +
           " MiB" + without + "\n";
}

}  // namespace

TEST_CASE("every convolution of ResNet-50 has a plan of cuDNN or our own kernel, on every architecture") {
    if (!test::load_fake_driver() || cudnn_version_text() == "none") {
        WARN("SKIPPED: cuDNN cannot be loaded");
        return;
    }
    std::string table;
    for (const char* arch : test::kArchitectures) {
        const CudnnTarget target = test::cudnn_target(arch);
        for (const PrecisionMode mode :
             {PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16, PrecisionMode::kTf32, PrecisionMode::kFp32}) {
            const test::PlanningDevice device(arch, {});
            if (!runs_mode(&device, mode)) {
                table += std::string(arch) + " " + std::string(name_of(mode)) + ": no such run\n";
                continue;
            }
            for (const ConvolutionKind kind : {ConvolutionKind::kForward, ConvolutionKind::kBackwardData,
                                               ConvolutionKind::kBackwardWeight})
                table += line_of(target, arch, kind, mode);
        }
    }
    test::check_golden_plans("cudnn_plans", table);
}

TEST_CASE("a plan says which engine it is and how much it needs") {
    if (cudnn_version_text() == "none") {
        WARN("SKIPPED: cuDNN cannot be loaded");
        return;
    }
    const CudnnTarget target = test::cudnn_target("sm90");
    CudnnGraph graph;
    add_convolution(graph, spec_of(kLayers[2], ConvolutionKind::kForward, PrecisionMode::kAmpFp16));
    std::string refusal;
    const std::vector<CudnnPlan> plans = graph.plans(target, {.most = 8}, &refusal);
    CHECK(refusal.empty());
    REQUIRE(plans.size() == 8);
    for (const CudnnPlan& plan : plans) {
        CHECK(plan.deterministic);
        CHECK(plan.workspace_bytes <= std::int64_t{256} << 20);
    }
    CHECK(plans.front().tensor_core);
    // Strict f32 takes no Tensor Cores.
    CudnnGraph wide;
    add_convolution(wide, spec_of(kLayers[2], ConvolutionKind::kForward, PrecisionMode::kFp32));
    for (const CudnnPlan& plan : wide.plans(target, {.tensor_cores = false, .most = 8}, &refusal))
        CHECK(!plan.tensor_core);
}

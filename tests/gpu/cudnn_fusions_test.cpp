// Which fusions cuDNN plans for the convolutions of ResNet-50 (batch 256, 224 x 224), for GPUs that are not
// there. What has no plan runs unfused: the convolution by cuDNN, what surrounds it on our own kernels. The
// table is golden text. Engines that cuDNN compiles at run time take a second each: of those, three
// convolutions stand for all.
#include <algorithm>
#include <catch2/catch.hpp>

#include "backends/cuda/device/cudnn_convolution.h"
#include "backends/cuda/spec_text.h"
#include "support/cudnn_targets.h"

using namespace mpt;
using namespace mpt::gpu;

namespace {

struct Layer {
    std::int64_t in, out, kernel, stride, side;
};
// 1x1, 3x3 and 3x3 of stride 2, and the others of a bottleneck network.
const std::vector<Layer> kLayers = {
    {64, 256, 1, 1, 56},   {64, 64, 3, 1, 56},    {128, 128, 3, 2, 56},  {64, 64, 1, 1, 56},
    {256, 64, 1, 1, 56},   {256, 128, 1, 1, 56},  {128, 512, 1, 1, 28},  {256, 512, 1, 2, 56},
    {512, 128, 1, 1, 28},  {128, 128, 3, 1, 28},  {512, 256, 1, 1, 28},  {256, 256, 3, 2, 28},
    {256, 1024, 1, 1, 14}, {512, 1024, 1, 2, 28}, {1024, 256, 1, 1, 14}, {256, 256, 3, 1, 14},
    {1024, 512, 1, 1, 14}, {512, 512, 3, 2, 14},  {512, 2048, 1, 1, 7},  {1024, 2048, 1, 2, 14},
    {2048, 512, 1, 1, 7},  {512, 512, 3, 1, 7}};
constexpr std::size_t kFew = 3;

struct Pattern {
    const char* name;
    ConvolutionKind kind;
    ConvolutionFusion fusion;
    bool compiled_at_runtime = false;  // on most architectures
};
const Pattern kPatterns[] = {
    {"convolution + statistics", ConvolutionKind::kForward, {.statistics = true}},
    {"scale-shift-relu + convolution + statistics",
     ConvolutionKind::kForward,
     {.affine = true, .relu = true, .statistics = true}},
    {"scale-shift-relu + weight gradient", ConvolutionKind::kBackwardWeight, {.affine = true, .relu = true}},
    {"data gradient + relu of a norm + sums",
     ConvolutionKind::kBackwardData,
     {.affine = true, .mask = true, .reductions = true}},
    {"data gradient + relu", ConvolutionKind::kBackwardData, {.mask = true}, true},
    {"data gradient + add + relu", ConvolutionKind::kBackwardData, {.add = true, .mask = true}, true},
};

ConvolutionSpec spec_of(const Layer& l, const Pattern& pattern, DType dtype) {
    ConvolutionSpec s;
    s.kind = pattern.kind;
    s.fusion = pattern.fusion;
    s.n = 256, s.h = s.w = l.side, s.c = l.in, s.k = l.out, s.r = s.s = l.kernel;
    s.stride = l.stride, s.pad = l.kernel / 2;
    s.p = s.q = (l.side + 2 * s.pad - l.kernel) / l.stride + 1;
    s.dtype = dtype;
    return s;
}

std::string line_of(const CudnnTarget& target, const std::string& arch, const Pattern& pattern, DType dtype) {
    // bf16 has engines compiled at run time alone.
    const bool few = pattern.compiled_at_runtime || dtype == DType::bf16;
    std::size_t count = few ? kFew : kLayers.size();
    std::size_t planned = 0, compiled = 0;
    std::int64_t workspace = 0;
    std::string without;
    for (std::size_t i = 0; i < count; ++i) {
        CudnnGraph graph;
        const ConvolutionSpec spec = spec_of(kLayers[i], pattern, dtype);
        add_convolution(graph, spec);
        std::string refusal;
        const std::vector<CudnnPlan> plans = graph.plans(target, {}, &refusal);
        if (plans.empty()) {
            without += "\n    unfused: " + text_of(spec);
            continue;
        }
        ++planned;
        compiled += plans.front().compiled_at_runtime ? 1 : 0;
        if (compiled == kFew) count = std::min(count, i + 1);
        workspace = std::max(workspace, plans.front().workspace_bytes);
    }
    if (planned == 0) without = "\n    unfused, all of them";
    return arch + " " + std::string(name_of(dtype)) + " " + pattern.name + ": " + std::to_string(planned) +
           " of " + std::to_string(count) + " planned, " + std::to_string(compiled) +
           " compiled at run time, workspace up to " + std::to_string((workspace + (1 << 20) - 1) >> 20) +
           " MiB" + without + "\n";
}

}  // namespace

TEST_CASE("every fusion around ResNet-50's convolutions has a plan of cuDNN or runs unfused") {
    if (!test::load_fake_driver() || cudnn_version_text() == "none") {
        WARN("SKIPPED: cuDNN cannot be loaded");
        return;
    }
    std::string table;
    for (const char* arch : test::kArchitectures) {
        const CudnnTarget target = test::cudnn_target(arch);
        for (const DType dtype : {DType::f16, DType::bf16})
            for (const Pattern& pattern : kPatterns) table += line_of(target, arch, pattern, dtype);
    }
    test::check_golden_plans("cudnn_fusions", table);
}

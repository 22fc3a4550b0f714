// The bytes that a micro-step of ResNet-50 moves, with fusion and without, as the plan counts them.
#include <catch2/catch.hpp>

#include "backends/cuda/host_twin/host_twin.h"
#include "passes/fuse.h"
#include "study/step_family.h"
#include "support/twin_training.h"
#include "train/program_graphs.h"

using namespace mpt;

namespace {

constexpr std::int64_t kRows = 256;

test::TwinTask resnet50() {
    test::TwinTask task = test::image_task(PrecisionMode::kAmpFp16, 50, 224, kRows);
    task.config.model.num_classes = task.data.num_classes = 1000;
    return task;
}

double megabytes(double bytes) {
    return bytes / kRows * 1e-6;
}

}  // namespace

TEST_CASE("fusion leaves at most 60 % of ResNet-50's memory traffic in amp_fp16") {
    const test::TwinTask task = resnet50();
    const StepFamily family(task.config, task.data, 1, {PrecisionMode::kAmpFp16});
    const FusionReport& fusion = family.fusion();
    INFO("MB an image: " << megabytes(fusion.bytes_after) << " of " << megabytes(fusion.bytes_before));
    CHECK(fusion.bytes_after <= 0.6 * fusion.bytes_before);
    double saved = 0;
    for (const FusionSaving& saving : fusion.savings) saved += saving.bytes;
    CHECK(saved == Approx(fusion.bytes_before - fusion.bytes_after));
}

// Nodes stand for what kernels read and write: cuDNN has no convolution's gradient that works out the batch
// norm's on the way, and makes the data's and the weights' gradient in a call each. An unfused batch norm
// alone counts its input once and reads it twice, for its sums and with them: the split shows what that is.
TEST_CASE("the fusions that GPU kernels take leave at most 60 % of what unfused kernels move") {
    const test::TwinTask task = resnet50();
    gpu::HostTwin device;
    const gpu::DeviceScope scope(&device);
    VariableTable variables;
    const CompiledGraph compiled = micro_step_graph(
        {task.config, task.data, variables, cuda_host_kernels(), 1, nullptr}, task.data.micro_batch);
    const FusionReport& fusion = compiled.report.fusion;
    double second_reads = 0;
    for (const FusionSaving& saving : fusion.savings)
        if (saving.rewrite == "batch_norm_split" || saving.rewrite == "batch_norm_backward_split")
            second_reads -= saving.bytes;
    INFO("MB an image: " << megabytes(fusion.bytes_after) << " of " << megabytes(fusion.bytes_before)
                         << " and " << megabytes(second_reads));
    CHECK(second_reads > 0);
    CHECK(fusion.bytes_after <= 0.6 * (fusion.bytes_before + second_reads));
    for (const Node& node : compiled.graph.nodes) {
        INFO(node.name);
        CHECK(node.op->name != "conv2d_backward_fused");
        CHECK(node.op->name != "batch_norm");
    }
}

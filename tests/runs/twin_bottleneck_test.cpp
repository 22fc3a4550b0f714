// A small bottleneck ResNet on the host twin: the stem with its max pool, projections; in narrow types its
// first convolution is padded to 4 or 8 channels, which neither the CPU nor the optimizer know of.
#include <catch2/catch.hpp>

#include "support/twin_training.h"

using namespace mpt;
using gpu::TwinOrder;

namespace {

constexpr std::int64_t kRows = 4, kSide = 32;

// A batch norm over a few values of a last stage passes rounding on enlarged: small steps keep it small.
test::TwinTask task_of(PrecisionMode mode) {
    test::TwinTask task = test::image_task(mode, 14, kSide, kRows);
    task.config.optimizer.lr = 5e-5;
    task.config.precision.loss_scale.init = 1024;  // overflows when it is told to, not by itself
    return task;
}

std::string plan_on_twin(PrecisionMode mode) {
    const test::TwinTask task = task_of(mode);
    gpu::HostTwin device;
    return TrainingProgram(task.config, task.data, 1, runs_on(cuda_host_kernels(), device)).plan_text();
}

}  // namespace

TEST_CASE("a bottleneck ResNet with its max pool trains on the host twin as on the CPU") {
    const auto pair = test::train_both(task_of(PrecisionMode::kFp32), TwinOrder::kFirstStreamAhead, 20);
    CHECK(pair.worst_loss() < 1e-4);
    CHECK(pair.twin.controls.back().applied == 20);
}

TEST_CASE("a bottleneck ResNet in amp_fp16 skips an injected overflow on the host twin as on the CPU") {
    const auto pair =
        test::train_both(task_of(PrecisionMode::kAmpFp16), TwinOrder::kSecondStreamAhead, 20, 4);
    CHECK(pair.worst_loss() < 2e-2);
    CHECK(pair.twin.controls[4].found_nonfinite == 1);
    CHECK(pair.twin.controls.back().skipped == 1);
    CHECK(pair.twin.controls.back().applied == 19);
}

TEST_CASE("a bottleneck ResNet in amp_bf16 trains on the host twin as on the CPU") {
    const auto pair = test::train_both(task_of(PrecisionMode::kAmpBf16), TwinOrder::kFirstStreamAhead, 20);
    CHECK(pair.worst_loss() < 2e-2);
    CHECK(pair.twin.controls.back().applied == 20);
    CHECK(pair.twin.controls.back().skipped == 0);
}

TEST_CASE("images are normalised and padded early, weights and their gradients beside the convolution") {
    const std::string f16 = plan_on_twin(PrecisionMode::kAmpFp16),
                      bf16 = plan_on_twin(PrecisionMode::kAmpBf16);
    CHECK_THAT(f16, Catch::Contains("image_normalize by cuda -> f16[4x32x32x4] early @"));
    CHECK_THAT(f16, Catch::Contains("conv1.pad_weights: pad_channels by cuda -> f16[64x7x7x4]"));
    CHECK_THAT(f16, Catch::Contains("conv1.backward_weight.cut_weights: pad_channels_backward by cuda -> "
                                    "f32[64x7x7x3]"));
    CHECK_THAT(bf16, Catch::Contains("image_normalize by cuda -> bf16[4x32x32x8] early @"));
    CHECK_THAT(plan_on_twin(PrecisionMode::kFp32), !Catch::Contains("pad_channels"));
}

// The bytes that a micro-step of ResNet-50 moves, with fusion and without, as the plan counts them.
#include <catch2/catch.hpp>

#include "backends/cuda/host_twin/host_twin.h"
#include "passes/fuse.h"
#include "study/step_family.h"
#include "support/twin_training.h"

using namespace mpt;

namespace {

constexpr std::int64_t kRows = 256;

test::TwinTask resnet50() {
    test::TwinTask task = test::image_task(PrecisionMode::kAmpFp16, 50, 224, kRows);
    task.config.model.num_classes = task.data.num_classes = 1000;
    return task;
}

}  // namespace

TEST_CASE("fusion leaves at most 60 % of ResNet-50's memory traffic in amp_fp16") {
    const test::TwinTask task = resnet50();
    const StepFamily family(task.config, task.data, 1, {PrecisionMode::kAmpFp16});
    const FusionReport& fusion = family.fusion();
    const double before = fusion.bytes_before / kRows * 1e-6, after = fusion.bytes_after / kRows * 1e-6;
    WARN("MB an image: " << after << " of " << before << ", " << 100 * after / before << " %");
    CHECK(after <= 0.6 * before);
    double saved = 0;
    for (const FusionSaving& saving : fusion.savings) saved += saving.bytes;
    CHECK(saved == Approx(fusion.bytes_before - fusion.bytes_after));
}

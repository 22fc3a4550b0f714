// A run whose first update overflows by itself, on the device path: the update is skipped there as on the
// CPU, nothing that it would have changed is touched, and the scale and the counters go on alike.
#include <catch2/catch.hpp>
#include <cstring>

#include "support/twin_training.h"

using namespace mpt;

namespace {

constexpr int kUpdates = 4;

test::TwinTask overflowing() {
    test::TwinTask task = test::image_task(PrecisionMode::kAmpFp16, 20, 8, 4);
    LossScaleConfig& scale = task.config.precision.loss_scale;
    scale.init = 0x1p60;  // no f16 holds such gradients
    scale.ceiling = 0x1p60;
    scale.backoff = 0x1p-50;
    scale.growth_interval = 2;  // the second clean update doubles it
    return task;
}

struct Run {
    std::vector<StepControl> controls;
    std::vector<float> initial, after_first, final_weights;  // masters
    std::vector<float> moments, gradients;                   // after the first update
    std::vector<std::uint16_t> narrow_initial, narrow_after;
};

template <typename T>
std::vector<T> copy_of(TrainingProgram& program, Region region) {
    const std::byte* bytes = program.region(region);
    REQUIRE(bytes != nullptr);
    std::vector<T> values(static_cast<std::size_t>(program.variables().parameter_elements()));
    std::memcpy(values.data(), bytes, values.size() * sizeof(T));
    return values;
}

Run run(TrainingProgram& program, const test::TwinTask& task) {
    program.allocate();
    program.initialize(3);
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    Run run;
    run.initial = copy_of<float>(program, Region::kMaster);
    run.narrow_initial = copy_of<std::uint16_t>(program, Region::kNarrow);
    for (int update = 0; update < kUpdates; ++update) {
        for (int micro = 0; micro < 2; ++micro) {
            const test::OwnedBatch batch = task.draw(task.data, random);
            program.micro_step_result(
                program.start_micro_step(batch.view(), {.window_weight = 8, .index = 2 * update + micro}));
        }
        run.controls.push_back(program.update_result(program.start_update()));
        if (update > 0) continue;
        run.after_first = copy_of<float>(program, Region::kMaster);
        run.narrow_after = copy_of<std::uint16_t>(program, Region::kNarrow);
        run.moments = copy_of<float>(program, Region::kMoment1);
        run.gradients = copy_of<float>(program, Region::kGradient);
    }
    run.final_weights = copy_of<float>(program, Region::kMaster);
    return run;
}

void check_skipped_first(const Run& run) {
    const StepControl& first = run.controls[0];
    CHECK(first.found_nonfinite == 1);
    CHECK(first.skip == 1);
    CHECK(first.applied == 0);
    CHECK(first.skipped == 1);
    CHECK(first.used_loss_scale == 0x1p60f);
    CHECK(first.loss_scale == 0x1p10f);
    CHECK(run.after_first == run.initial);
    CHECK(run.narrow_after == run.narrow_initial);
    const std::vector<float> zeros(run.initial.size());
    CHECK(run.moments == zeros);
    CHECK(run.gradients == zeros);  // ready for the next window
    CHECK(run.final_weights != run.initial);
}

}  // namespace

TEST_CASE("a first update that overflows on the device leaves no trace but the scale's, as on the CPU") {
    const test::TwinTask task = overflowing();
    gpu::HostTwin device(false, gpu::TwinOrder::kSecondStreamAhead);
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    TrainingProgram on_cpu(task.config, task.data, 1, std::move(cpu));
    TrainingProgram on_twin(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
    const Run expected = run(on_cpu, task), got = run(on_twin, task);
    check_skipped_first(expected);
    check_skipped_first(got);
    CHECK(got.initial == expected.initial);
    for (std::size_t u = 0; u < kUpdates; ++u) {
        INFO("update " << u);
        // The norm alone is a sum in another order; of an overflow it says nothing.
        StepControl a = got.controls[u], b = expected.controls[u];
        if (a.skip == 0) CHECK(a.gradient_norm == Approx(b.gradient_norm).epsilon(2e-2));
        a.gradient_norm = b.gradient_norm = 0;
        CHECK(a == b);
    }
    CHECK(got.controls.back().applied == kUpdates - 1);
    CHECK(got.controls.back().loss_scale == 0x1p11f);  // grown after two clean updates
}

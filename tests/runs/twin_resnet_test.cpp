// Whole training steps of the CUDA backend on the host twin, of ResNets: device memory, two streams, capture
// and replay, accumulation, a skipped update, and the host's view of the regions; against the CPU.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/available_memory.h"
#include "core/error.h"
#include "support/twin_training.h"

using namespace mpt;
using gpu::TwinOrder;

TEST_CASE("ResNet-20 trains on the host twin as on the CPU, through capture and replay") {
    const auto pair =
        test::train_both(test::image_task(PrecisionMode::kFp32, 20, 8, 4), TwinOrder::kFirstStreamAhead, 20);
    CHECK(pair.worst_loss() < 1e-4);
    CHECK(pair.twin.controls.back().applied == 20);
}

TEST_CASE("mixed precision on the host twin: an injected overflow is skipped, and nothing else changes") {
    for (const PrecisionMode mode : {PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16}) {
        const int overflow = mode == PrecisionMode::kAmpFp16 ? 4 : -1;
        const auto pair =
            test::train_both(test::image_task(mode, 20, 8, 4), TwinOrder::kSecondStreamAhead, 20, overflow);
        CHECK(pair.worst_loss() < 2e-2);
        CHECK(pair.twin.controls.back().skipped == (overflow < 0 ? 0 : 1));
        CHECK(pair.twin.controls.back().applied == (overflow < 0 ? 20 : 19));
        if (overflow >= 0) CHECK(pair.twin.controls[static_cast<std::size_t>(overflow)].found_nonfinite == 1);
    }
}

TEST_CASE("the same run on the host twin gives the same bits, also with the threads in the other order") {
    const auto weights = test::weights_in_both_orders(test::image_task(PrecisionMode::kAmpFp16, 20, 8, 4), 3);
    CHECK(weights[0] == weights[1]);
}

TEST_CASE("within and between updates the host waits for nothing, and profilers see the nodes' names") {
    const test::TwinTask task = test::image_task(PrecisionMode::kAmpFp16, 20, 8, 4);
    gpu::HostTwin device(false, TwinOrder::kSecondStreamAhead);
    TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
    program.allocate();
    program.initialize(3);
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    std::vector<std::int64_t> updates;
    const auto enqueue = [&] {
        for (int micro = 0; micro < 2; ++micro) {
            const test::OwnedBatch batch = task.draw(task.data, random);
            program.micro_step_result(program.start_micro_step(batch.view(), {.window_weight = 8}));
        }
        updates.push_back(program.start_update());
    };
    enqueue();
    const std::int64_t before = device.num_synchronizations();
    for (int update = 0; update < 3; ++update) enqueue();
    CHECK(device.num_synchronizations() == before);
    for (std::size_t u = 0; u < updates.size(); ++u)
        CHECK(program.update_result(updates[u]).attempted == static_cast<std::int64_t>(u) + 1);
    const auto has = [&](const std::string& name) {
        return std::ranges::find(device.ranges(), name) != device.ranges().end();
    };
    for (const char* name : {"layer1.0.conv1", "fc.backward_weight", "sgd_update", "micro_step", "update"}) {
        INFO(name);
        CHECK(has(name));
    }
}

TEST_CASE("nodes are timed by events, early ones too") {
    const test::TwinTask task = test::image_task(PrecisionMode::kFp32, 20, 8, 4);
    gpu::HostTwin device(false, TwinOrder::kFirstStreamAhead);
    TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
    program.allocate();
    program.initialize(3);
    double total = 0;
    std::size_t steps = 0;
    program.time_steps([&](const Executor&, const std::vector<double>& ms) {
        steps += ms.size();
        for (const double took : ms) {
            CHECK(took >= 0);
            total += took;
        }
    });
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    const test::OwnedBatch batch = task.draw(task.data, random);
    program.run_micro_step(batch.view(), {.window_weight = 4});
    program.run_update();
    CHECK(steps > 100);
    CHECK(total > 0);
}

TEST_CASE("a plan that the device has no memory for is told with the need and the largest micro-batch") {
    const test::TwinTask task = test::image_task(PrecisionMode::kAmpFp16, 20, 32, 64);
    gpu::HostTwin device;
    gpu::DeviceSettings settings;
    settings.autotune = gpu::Autotune::kMeasure;
    device.set(settings);
    TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
    CHECK(program.available_bytes() == device.free_bytes());
    const std::int64_t need = program.memory().arena_bytes;
    CHECK_NOTHROW(program.check_fits(need));
    const std::int64_t largest = program.largest_micro_batch(need / 2, Recompute::kOff);
    CHECK(largest > 0);
    CHECK(largest < 64);
    try {
        program.check_fits(need / 2);
        FAIL("half of the memory is enough");
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kResource);
        CHECK_THAT(error.what(),
                   Catch::Contains("the plan needs " + print_bytes(need)) &&
                       Catch::Contains("there is " + print_bytes(need / 2)) &&
                       Catch::Contains("largest micro-batch that fits is " + std::to_string(largest)));
    }
    // Looking for it leaves the device as it was.
    CHECK(device.settings().autotune == gpu::Autotune::kMeasure);
    CHECK(!device.settings().sizes_only);
    program.allocate();
    CHECK(program.available_bytes() <= (std::int64_t{1} << 34) - need);
}

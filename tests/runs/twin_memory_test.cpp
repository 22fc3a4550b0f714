// Memory that a device turns out not to have, at the start and at the first graph: told as a plan that does
// not fit is. The reference for the largest micro-batch is the plan for nine tenths of what is free.
#include <catch2/catch.hpp>

#include "core/available_memory.h"
#include "core/error.h"
#include "exec/run_memory.h"
#include "support/scarce_device.h"
#include "support/twin_training.h"

using namespace mpt;
using test::Refused;

namespace {

std::string failure_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kResource);
        return error.what();
    }
    FAIL("nothing was thrown");
    return {};
}

void check_told(const std::string& told, const TrainingProgram& program, std::int64_t available,
                const std::string& cause) {
    const std::int64_t need = program.memory().arena_bytes;
    const std::int64_t largest =
        program.largest_micro_batch(std::min(need, available) / 10 * 9, Recompute::kOff);
    CHECK(largest > 0);
    CHECK_THAT(told, Catch::Contains("the plan needs " + print_bytes(need) + " at micro-batch") &&
                         Catch::Contains("there is " + print_bytes(available) +
                                         ", too little for it and what comes beside it (" + cause + ")") &&
                         Catch::Contains("largest micro-batch that fits is " + std::to_string(largest)) &&
                         Catch::Contains("set train.accumulate=") &&
                         !Catch::Contains("lower train.batch_size"));
}

}  // namespace

TEST_CASE("memory that cannot be had at the start is told with the need, and nothing is kept") {
    for (const bool pinned : {false, true}) {
        const test::TwinTask task = test::image_task(PrecisionMode::kAmpFp16, 20, 32, 64);
        test::ScarceDevice device;
        TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
        const std::int64_t before = device.bytes_in_use();
        device.refused = pinned ? Refused::kPinned : Refused::kMemory;
        device.free = program.memory().arena_bytes + (std::int64_t{1} << 20);
        CHECK_NOTHROW(program.check_fits(program.available_bytes()));
        const std::string told = failure_of([&] { program.allocate(); });
        check_told(told, program, device.free,
                   pinned ? "cudaMallocHost: out of memory" : "cudaMalloc: out of memory");
        CHECK(program.allocated_bytes() == 0);
        CHECK(device.bytes_in_use() == before);
        // Another program has taken some meanwhile: less than the plan needs.
        device.free = program.memory().arena_bytes / 2;
        check_told(failure_of([&] { program.allocate(); }), program, device.free,
                   pinned ? "cudaMallocHost: out of memory" : "cudaMalloc: out of memory");
    }
}

TEST_CASE("the block of a run is zero before the second stream writes to it") {
    gpu::HostTwin device(false, gpu::TwinOrder::kSecondStreamAhead);
    const VariableTable none;
    const RunMemory memory(&device, none, lay_out(none, 512, 256), false, 1);
    const std::vector<std::byte> batch(256, std::byte{7}), zeros(256);
    std::vector<std::byte> first(256), second(256);
    device.beside([&] { device.copy(memory.store().staging(0), batch.data(), batch.size()); });
    device.synchronize();
    device.copy(first.data(), memory.store().staging(0), first.size());
    device.copy(second.data(), memory.store().staging(1), second.size());
    device.synchronize();
    CHECK(first == batch);
    CHECK(second == zeros);
}

TEST_CASE("a graph that cannot be had is told with the need; what the plan holds is its own") {
    const test::TwinTask task = test::image_task(PrecisionMode::kFp32, 20, 8, 16);
    test::ScarceDevice device;
    device.refused = Refused::kGraphs;
    TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
    program.allocate();
    program.initialize(3);
    device.free = std::int64_t{1} << 20;
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    const test::OwnedBatch batch = task.draw(task.data, random);
    program.run_micro_step(batch.view(), {.window_weight = 32});
    const std::string told = failure_of([&] { program.run_micro_step(batch.view(), {.window_weight = 32}); });
    check_told(told, program, device.free + program.allocated_bytes(), "cudaGraphInstantiate: out of memory");
}

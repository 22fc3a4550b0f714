// The trainer on the host twin, where it is an update ahead of what it knows: rows, skips, checkpoints and
// resumes are those of a CPU.
#include <catch2/catch.hpp>

#include "backends/cuda/host_twin/host_twin.h"
#include "support/small_run.h"

using namespace mpt;
using test::rows_of;

namespace {

void run_on_twin(const RunConfig& config, ResumeKind resume = ResumeKind::kNo) {
    gpu::HostTwin device(false, gpu::TwinOrder::kSecondStreamAhead);
    test::run(config, {.resume = resume, .runs_on = [&] { return runs_on(cuda_host_kernels(), device); }});
}

RunConfig config_in(const std::filesystem::path& folder) {
    RunConfig config = test::small_config(folder);
    config.precision.mode = PrecisionMode::kAmpFp16;
    config.precision.loss_scale.init = 0x1p60;  // no f16 holds such gradients
    config.precision.loss_scale.ceiling = 0x1p60;
    config.precision.loss_scale.backoff = 0x1p-50;
    config.model.zero_init_residual = true;
    config.optimizer.lr = 0.002;
    config.train.accumulate = 2;
    config.train.steps = 7;
    config.train.log_every = 2;
    config.train.eval_every = {4, DurationUnit::kUpdates};
    return config;
}

}  // namespace

TEST_CASE("a run on the host twin writes the rows that a CPU writes") {
    const test::ScratchFolder folder;
    test::run(config_in(folder / "cpu"));
    run_on_twin(config_in(folder / "twin"));
    for (const char* kind : {"train", "eval"}) {
        const test::Rows cpu = rows_of(folder / "cpu", kind), twin = rows_of(folder / "twin", kind);
        REQUIRE(cpu.size() == twin.size());
        for (const char* name : {"step", "epoch"}) CHECK(test::column(cpu, name) == test::column(twin, name));
        for (std::size_t r = 0; r < cpu.size(); ++r) {
            INFO(kind << " row " << r);
            CHECK(twin[r]["loss"].get<double>() == Approx(cpu[r]["loss"].get<double>()).epsilon(2e-2));
        }
    }
    const test::Rows rows = rows_of(folder / "twin", "train");
    CHECK(test::column(rows, "skipped") == test::column(rows_of(folder / "cpu", "train"), "skipped"));
    CHECK(rows.back()["skipped"].get<int>() == 1);  // the first, at a scale that nothing survives
    CHECK(rows.back()["applied"].get<int>() == 6);
}

TEST_CASE("a run on the host twin goes on from its checkpoint with the same bits") {
    const test::ScratchFolder folder;
    RunConfig straight = config_in(folder / "straight");
    straight.checkpoint.every = {3, DurationUnit::kUpdates};
    run_on_twin(straight);
    RunConfig parts = config_in(folder / "parts");
    parts.checkpoint.every = {3, DurationUnit::kUpdates};
    parts.train.steps = 3;
    run_on_twin(parts);
    parts.train.steps = 7;
    run_on_twin(parts, ResumeKind::kAuto);
    CHECK(test::weights_of(folder / "straight", 7) == test::weights_of(folder / "parts", 7));
    CHECK(test::column(rows_of(folder / "straight", "train"), "loss") ==
          test::column(rows_of(folder / "parts", "train"), "loss"));
}

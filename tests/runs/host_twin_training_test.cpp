// Whole training steps of the CUDA backend on the host twin: device memory, capture and replay, accumulation,
// a skipped update, and the host's view of the regions; against the same run on the CPU.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "backends/cuda/host_twin/host_twin.h"
#include "core/philox.h"
#include "train/training_program.h"

using namespace mpt;

namespace {

constexpr std::int64_t kRows = 4;

RunConfig config_of(PrecisionMode mode, std::int64_t depth) {
    RunConfig config;
    config.model.depth = depth;
    config.model.num_classes = 4;
    config.precision.mode = mode;
    config.train.batch_size = 2 * kRows;
    config.train.accumulate = 2;
    // Blocks begin as identity and steps are small: otherwise rounding alone grows a hundredfold in a few
    // updates, as it does between PyTorch's own kernels (scripts/compare_losses.sh).
    config.model.zero_init_residual = true;
    config.optimizer.lr = 0.002;
    config.optimizer.weight_decay = 1e-4;
    return config;
}

DataDescription data_of(std::int64_t side) {
    DataDescription data;
    data.height = data.width = side;
    data.channels = 3;
    data.num_classes = 4;
    data.micro_batch = {.rows = kRows};
    data.mean = {0.4f, 0.4f, 0.4f};
    data.std = {0.25f, 0.25f, 0.25f};
    data.updates_per_epoch = 10;
    data.total_updates = 20;
    return data;
}

struct Trace {
    std::vector<double> losses;
    std::vector<StepControl> controls;
    std::vector<float> weights;
};

// `updates` updates of two micro-steps; update `overflow` finds a loss scale that overflows f16.
Trace train(TrainingProgram& program, const DataDescription& data, int updates, int overflow) {
    program.allocate();
    program.initialize(3);
    Trace trace;
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    const auto pixels = static_cast<std::size_t>(kRows * data.height * data.width * data.channels);
    for (int update = 0; update < updates; ++update) {
        if (update == overflow) {
            StepControl control = program.control();
            control.loss_scale = 0x1p60f;
            program.set_control(control);
        }
        double loss = 0;
        for (int micro = 0; micro < 2; ++micro) {
            std::vector<std::uint8_t> images(pixels);
            std::vector<std::int32_t> labels(static_cast<std::size_t>(kRows));
            for (auto& label : labels) label = static_cast<std::int32_t>(random.below(4));
            for (std::size_t i = 0; i < pixels; ++i)
                images[i] = static_cast<std::uint8_t>(
                    random.below(128) + static_cast<std::uint64_t>(32 * labels[i / (pixels / kRows)]));
            MicroBatch batch;
            batch.shape.rows = batch.weight = kRows;
            batch.inputs = {graph_input<std::uint8_t>("images", images),
                            graph_input<std::int32_t>("labels", labels)};
            loss += program.run_micro_step(batch, {.window_weight = 2 * kRows, .index = 2 * update + micro})
                        .loss_sum;
        }
        trace.losses.push_back(loss / static_cast<double>(2 * kRows));
        trace.controls.push_back(program.run_update());
        if (update == overflow) {
            StepControl control = program.control();
            control.loss_scale = 1024;
            program.set_control(control);
        }
    }
    const auto* masters = reinterpret_cast<const float*>(program.region(Region::kMaster));
    trace.weights.assign(masters, masters + program.variables().parameter_elements());
    return trace;
}

struct Pair {
    Trace cpu, twin;
};

Pair train_both(PrecisionMode mode, std::int64_t depth, std::int64_t side, int updates, int overflow = -1) {
    const RunConfig config = config_of(mode, depth);
    const DataDescription data = data_of(side);
    gpu::HostTwin device;
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    TrainingProgram on_cpu(config, data, 1, std::move(cpu));
    TrainingProgram on_twin(config, data, 1, runs_on(cuda_host_kernels(), device));
    Pair pair{train(on_cpu, data, updates, overflow), train(on_twin, data, updates, overflow)};
    device.synchronize();
    return pair;
}

double worst_loss(const Pair& pair) {
    double worst = 0;
    for (std::size_t i = 0; i < pair.cpu.losses.size(); ++i)
        worst = std::max(worst, std::abs(pair.twin.losses[i] - pair.cpu.losses[i]) / pair.cpu.losses[i]);
    return worst;
}

}  // namespace

TEST_CASE("ResNet-20 trains on the host twin as on the CPU, through capture and replay") {
    const Pair pair = train_both(PrecisionMode::kFp32, 20, 16, 20);
    CHECK(worst_loss(pair) < 1e-4);
    CHECK(pair.twin.controls.back().applied == 20);
}

TEST_CASE("mixed precision on the host twin: an injected overflow is skipped, and nothing else changes") {
    for (const PrecisionMode mode : {PrecisionMode::kAmpFp16, PrecisionMode::kAmpBf16}) {
        const int overflow = mode == PrecisionMode::kAmpFp16 ? 4 : -1;
        const Pair pair = train_both(mode, 20, 16, 20, overflow);
        CHECK(worst_loss(pair) < 2e-2);
        CHECK(pair.twin.controls.back().skipped == (overflow < 0 ? 0 : 1));
        CHECK(pair.twin.controls.back().applied == (overflow < 0 ? 20 : 19));
        if (overflow >= 0) CHECK(pair.twin.controls[static_cast<std::size_t>(overflow)].found_nonfinite == 1);
    }
}

TEST_CASE("the same run on the host twin gives the same bits, also with the threads in the other order") {
    const RunConfig config = config_of(PrecisionMode::kAmpFp16, 20);
    const DataDescription data = data_of(8);
    std::vector<std::vector<float>> weights;
    for (const bool last_first : {false, true}) {
        gpu::HostTwin device(last_first);
        TrainingProgram program(config, data, 1, runs_on(cuda_host_kernels(), device));
        weights.push_back(train(program, data, 3, -1).weights);
    }
    CHECK(weights[0] == weights[1]);
}

TEST_CASE("a bottleneck ResNet with its max pool trains on the host twin as on the CPU") {
    const Pair pair = train_both(PrecisionMode::kFp32, 50, 32, 2);
    CHECK(worst_loss(pair) < 1e-4);
}

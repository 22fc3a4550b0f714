// The same run on the CPU and on the host twin: windows of two micro-steps, an update that finds a loss scale
// which overflows f16, results that are read an update late.
#pragma once

#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "backends/cuda/host_twin/host_twin.h"
#include "core/philox.h"
#include "train/training_program.h"

namespace mpt::test {

// A micro-batch with bytes of its own.
class OwnedBatch {
  public:
    BatchShape shape;
    std::int64_t weight = 0;
    template <typename T>
    void add(const std::string& name, const std::vector<T>& values) {
        const auto bytes = std::as_bytes(std::span(values));
        inputs_[name].assign(bytes.begin(), bytes.end());
    }
    MicroBatch view() const {
        MicroBatch batch;
        batch.shape = shape;
        batch.weight = weight;
        for (const auto& [name, bytes] : inputs_) batch.inputs.push_back({name, bytes});
        return batch;
    }

  private:
    std::map<std::string, std::vector<std::byte>> inputs_;
};

struct TwinTask {
    RunConfig config;
    DataDescription data;
    OwnedBatch (*draw)(const DataDescription& data, RandomStream& random) = nullptr;
};

struct Trace {
    std::vector<double> losses;  // an update, the mean
    std::vector<StepControl> controls;
    std::vector<float> weights;
};

inline Trace train(TrainingProgram& program, const TwinTask& task, int updates, int overflow) {
    program.allocate();
    program.initialize(3);
    Trace trace;
    RandomStream random(5, RandomPurpose::kSynthetic, 0);
    struct Started {
        std::vector<std::int64_t> micro_steps;
        std::int64_t update = 0, weight = 0;
    };
    std::deque<Started> started;
    const auto read_oldest = [&] {
        double loss = 0;
        for (const std::int64_t number : started.front().micro_steps)
            loss += program.micro_step_result(number).loss_sum;
        trace.losses.push_back(loss / static_cast<double>(started.front().weight));
        trace.controls.push_back(program.update_result(started.front().update));
        started.pop_front();
    };
    const auto set_scale = [&](float scale) {
        StepControl control = program.control();
        control.loss_scale = scale;
        program.set_control(control);
    };
    for (int update = 0; update < updates; ++update) {
        if (update == overflow) set_scale(0x1p60f);
        std::vector<OwnedBatch> batches;
        Started now;
        for (int micro = 0; micro < 2; ++micro) {
            batches.push_back(task.draw(task.data, random));
            now.weight += batches.back().weight;
        }
        for (int micro = 0; micro < 2; ++micro)
            now.micro_steps.push_back(
                program.start_micro_step(batches[static_cast<std::size_t>(micro)].view(),
                                         {.window_weight = now.weight, .index = 2 * update + micro}));
        now.update = program.start_update();
        started.push_back(now);
        if (started.size() > 1) read_oldest();
        if (update == overflow) set_scale(1024);
    }
    while (!started.empty()) read_oldest();
    const auto* masters = reinterpret_cast<const float*>(program.region(Region::kMaster));
    trace.weights.assign(masters, masters + program.variables().parameter_elements());
    return trace;
}

struct TracePair {
    Trace cpu, twin;
    // The greatest relative difference of a loss.
    double worst_loss() const {
        double worst = 0;
        for (std::size_t i = 0; i < cpu.losses.size(); ++i)
            worst = std::max(worst, std::abs(twin.losses[i] - cpu.losses[i]) / cpu.losses[i]);
        return worst;
    }
};

inline TracePair train_both(const TwinTask& task, gpu::TwinOrder order, int updates, int overflow = -1) {
    gpu::HostTwin device(false, order);
    RunsOn cpu;
    cpu.kernels = cpu_kernels();
    TrainingProgram on_cpu(task.config, task.data, 1, std::move(cpu));
    TrainingProgram on_twin(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
    TracePair pair{train(on_cpu, task, updates, overflow), train(on_twin, task, updates, overflow)};
    device.synchronize();
    return pair;
}

// Masters after a few updates on the twin, with blocks and threads in either order.
inline std::vector<std::vector<float>> weights_in_both_orders(const TwinTask& task, int updates) {
    std::vector<std::vector<float>> weights;
    for (const bool last_first : {false, true}) {
        gpu::HostTwin device(last_first);
        TrainingProgram program(task.config, task.data, 1, runs_on(cuda_host_kernels(), device));
        weights.push_back(train(program, task, updates, -1).weights);
    }
    return weights;
}

inline TwinTask image_task(PrecisionMode mode, std::int64_t depth, std::int64_t side, std::int64_t rows) {
    TwinTask task;
    RunConfig& config = task.config;
    config.model.depth = depth;
    config.model.num_classes = 4;
    config.precision.mode = mode;
    config.train.batch_size = 2 * rows;
    config.train.accumulate = 2;
    // Blocks begin as identity and steps are small: otherwise rounding alone grows a hundredfold in a few
    // updates, as it does between PyTorch's own kernels (scripts/compare_losses.sh).
    config.model.zero_init_residual = true;
    config.optimizer.lr = 0.002;
    config.optimizer.weight_decay = 1e-4;
    DataDescription& data = task.data;
    data.height = data.width = side;
    data.channels = 3;
    data.num_classes = 4;
    data.micro_batch = {.rows = rows};
    data.mean = {0.4f, 0.4f, 0.4f};
    data.std = {0.25f, 0.25f, 0.25f};
    data.updates_per_epoch = 10;
    data.total_updates = 20;
    task.draw = [](const DataDescription& d, RandomStream& random) {
        const auto rows_of_batch = static_cast<std::size_t>(d.micro_batch.rows);
        const auto pixels = static_cast<std::size_t>(d.height * d.width * d.channels);
        std::vector<std::int32_t> labels(rows_of_batch);
        for (auto& label : labels) label = static_cast<std::int32_t>(random.below(4));
        std::vector<std::uint8_t> images;
        for (std::size_t i = 0; i < rows_of_batch * pixels; ++i)
            images.push_back(static_cast<std::uint8_t>(random.below(128) +
                                                       static_cast<std::uint64_t>(32 * labels[i / pixels])));
        OwnedBatch batch;
        batch.shape = d.micro_batch;
        batch.weight = d.micro_batch.rows;
        batch.add("images", images);
        batch.add("labels", labels);
        return batch;
    };
    return task;
}

}  // namespace mpt::test

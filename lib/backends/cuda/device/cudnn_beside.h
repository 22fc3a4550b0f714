// Calls of cuDNN beside a kernel of ours that does the same: ours is the first candidate and is taken unless
// cuDNN's was timed and is faster.
#pragma once

#include <algorithm>

#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/cudnn_runner.h"
#include "backends/cuda/failures.h"
#include "backends/cuda/journal.h"

namespace mpt::gpu {

// Memory of a tensor that candidates are timed on.
class ScratchTensors {
  public:
    explicit ScratchTensors(CudaDevice& device) : device_(device) {}
    std::byte* add(std::size_t bytes, const ScratchValues& values) {
        memories_.emplace_back(device_, bytes);
        fill_scratch(device_, memories_.back().data(), bytes, values);
        return memories_.back().data();
    }
    std::byte* add_values(std::int64_t elements, DType dtype) {
        return add(static_cast<std::size_t>(elements) * size_of(dtype), ScratchValues{dtype});
    }
    float* add_vector(std::int64_t channels, ScratchValues values = {}) {
        return reinterpret_cast<float*>(add(static_cast<std::size_t>(channels) * sizeof(float), values));
    }

  private:
    CudaDevice& device_;
    std::vector<Memory> memories_;
};

// A graph of cuDNN's, what a call binds to it, and what it is timed on.
template <typename Args>
struct CallBeside {
    std::string what;  // the journal's name of it
    std::shared_ptr<CudnnGraph> graph;
    std::function<Bindings(const Args&)> bind;
    std::function<Args(ScratchTensors&)> scratch;
    OwnKernel<Args> own;
};

template <typename Args>
Planned<Args> plan_beside(const CudnnRunner& runner, CudaDevice& device, const CallBeside<Args>& call) {
    Planned<Args> planned;
    planned.refusal = why_own(device.journal(), device.settings().autotune, call.what);
    if (!planned.refusal.empty()) return planned;
    const std::vector<CudnnPlan> plans = runner.plans(device, *call.graph, call.what, true, &planned.refusal);
    if (plans.empty()) return planned;
    std::vector<std::string> keys = {kOwnCandidate};
    auto workspace_bytes = static_cast<std::int64_t>(call.own.workspace_bytes);
    for (const CudnnPlan& plan : plans) {
        keys.push_back(plan.key());
        workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
    }
    ScratchTensors tensors(device);
    std::optional<Args> args;
    const auto ms = [&](std::size_t index) {
        if (!args) {
            args = call.scratch(tensors);
            args->workspace =
                tensors.add(static_cast<std::size_t>(workspace_bytes), ScratchValues{DType::u8, 0.0f});
        }
        return device.time(
            [&] {
                if (index == 0)
                    call.own.run(*args);
                else
                    runner.run(*call.graph, plans[index - 1], call.bind(*args), args->workspace);
            },
            5);
    };
    std::size_t chosen = 0;
    try {
        chosen = choose_candidate(device.journal(), device.settings().autotune, call.what, keys, ms);
    } catch (const CallFailed& error) {
        planned.refusal = error.what();
        return planned;
    }
    if (chosen == 0) {
        planned.refusal = "our own kernel is the faster one";
        return planned;
    }
    const CudnnPlan& plan = plans[chosen - 1];
    planned.workspace_bytes = static_cast<std::size_t>(plan.workspace_bytes);
    planned.description = plan.description();
    planned.run = [&runner, call, plan](const Args& a) {
        runner.run(*call.graph, plan, call.bind(a), a.workspace);
    };
    return planned;
}

}  // namespace mpt::gpu

// Runs a plan: kernels in order on fixed addresses. Decides nothing.
//
// On a device a run only enqueues. Inputs, and the steps that need nothing else, go to the device's second
// stream and into one of two staging buffers; the other steps wait for them. The first run enqueues these
// step by step, which loads code; later ones are recorded, once for each buffer, together with the copies of
// outputs to the host (two buffers as well), and replayed from then on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "exec/staging.h"
#include "exec/store.h"
#include "plan/plan.h"

namespace mpt {

class Executor {
  public:
    // The plan, the store's memory, the device (null: the CPU) and the staging that all executors of the
    // store share must outlive the executor.
    Executor(const Plan& plan, const Store& store, gpu::Device* device = nullptr, Staging* staging = nullptr);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Returns the run's number, counted from 1.
    std::int64_t run() const;
    // Runs step by step; `after` is called after each with the node, e.g. to look for the first non-finite
    // value.
    void run(const std::function<void(const PlannedStep& step)>& after) const;
    // Runs and returns how long each step took, in ms: by events of a device, by the clock of a CPU.
    std::vector<double> run_timed() const;

    // To be filled before each run.
    template <typename T>
    std::span<T> input(const std::string& name) const {
        const ValueId id = plan_.graph.input(name);
        return view<T>(staging_ == nullptr ? address(id) : staging_->writable().pinned + offset(id), id);
    }
    // Of the last run, or of the one before on a device; waits for it.
    template <typename T>
    std::span<const T> output(const std::string& name) const {
        return output<T>(name, num_runs_);
    }
    template <typename T>
    std::span<const T> output(const std::string& name, std::int64_t run) const {
        const ValueId id = plan_.graph.output(name);
        return view<const T>(output_of(id, run), id);
    }
    // The bytes of any value of the last run on the host, awaited; meaningful only while the value is alive.
    std::vector<std::byte> fetch(ValueId id) const;
    std::int64_t num_runs() const { return num_runs_; }
    // How many runs were recorded: one for each buffer of inputs and each of outputs that met.
    std::int64_t num_recordings() const {
        return std::ranges::count_if(recordings_, [](const auto& recording) { return recording != nullptr; });
    }
    bool has_input(const std::string& name) const;
    bool has_output(const std::string& name) const;
    // Address of any value in the last run; meaningful only while the value is alive.
    std::byte* address(ValueId id) const {
        return slots_[last_slot_].addresses[static_cast<std::size_t>(id)];
    }
    const Plan& plan() const { return plan_; }

  private:
    struct Call {
        std::vector<void*> inputs, outputs;
        void* workspace = nullptr;
    };
    // What depends on the staging buffer of a run.
    struct Slot {
        std::vector<std::byte*> addresses;  // one a value
        std::vector<Call> calls;            // one a step
    };
    // Where outputs of a run are for the host.
    struct Results {
        std::byte* pinned = nullptr;
        std::unique_ptr<gpu::Event> there;
        std::int64_t run = 0;
    };

    template <typename T>
    std::span<T> view(std::byte* at, ValueId id) const {
        return {reinterpret_cast<T*>(at), static_cast<std::size_t>(plan_.graph.type(id).bytes()) / sizeof(T)};
    }
    std::size_t offset(ValueId id) const {
        return static_cast<std::size_t>(plan_.placements[static_cast<std::size_t>(id)].offset);
    }
    Slot slot_of(const Store& store, int index) const;
    void place_outputs();
    std::byte* output_of(ValueId id, std::int64_t run) const;
    void run_step(const Slot& slot, std::size_t step) const;
    enum class Which : std::uint8_t { kEarly, kOthers };
    void enqueue(const Slot& slot, Which which) const;
    void copy_outputs(const Slot& slot, const Results& results) const;
    // Brings the inputs in and calls `others` for the steps that wait for them.
    void run_on_device(const std::function<void(const Slot& slot, Results& results)>& others) const;

    const Plan& plan_;
    gpu::Device* device_ = nullptr;
    std::unique_ptr<Staging> own_staging_;
    Staging* staging_ = nullptr;  // of a device
    std::vector<Slot> slots_;     // of a CPU one
    std::byte* staging_memory_[2] = {nullptr, nullptr};
    mutable std::array<Results, 2> results_;
    std::vector<std::size_t> output_offsets_;  // one an output of the graph
    mutable std::array<std::unique_ptr<gpu::Recording>, 4> recordings_;
    mutable std::size_t last_slot_ = 0;
    mutable std::int64_t num_runs_ = 0;
};

}  // namespace mpt

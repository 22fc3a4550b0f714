// Runs a plan: kernels in order on fixed addresses. Decides nothing. On a device the first run enqueues step
// by step, which loads code; the second is recorded, with the copies of inputs and outputs, and replayed from
// then on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/device.h"
#include "exec/store.h"
#include "plan/plan.h"

namespace mpt {

class Executor {
  public:
    // The plan, the store's memory and the device (null: the CPU) must outlive the executor.
    Executor(const Plan& plan, const Store& store, gpu::Device* device = nullptr);
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    void run() const;
    // Runs step by step; `after` is called after each with the node, e.g. to look for the first non-finite
    // value.
    void run(const std::function<void(const PlannedStep& step)>& after) const;

    // To be filled before a run, and read after one; the latter waits for a device.
    template <typename T>
    std::span<T> input(const std::string& name) const {
        return view<T>(plan_.graph.input(name));
    }
    template <typename T>
    std::span<const T> output(const std::string& name) const {
        if (device_ != nullptr) device_->synchronize();
        return view<const T>(plan_.graph.output(name));
    }
    // The bytes of any value on the host, awaited; meaningful only while the value is alive.
    std::vector<std::byte> fetch(ValueId id) const;
    bool replays() const { return recording_ != nullptr; }
    bool has_input(const std::string& name) const;
    bool has_output(const std::string& name) const;
    // Address of any value; meaningful only while the value is alive.
    std::byte* address(ValueId id) const { return addresses_[static_cast<std::size_t>(id)]; }
    const Plan& plan() const { return plan_; }

  private:
    template <typename T>
    std::span<T> view(ValueId id) const {
        const TensorType& type = plan_.graph.type(id);
        std::byte* at = staged_.empty() ? address(id) : staged_[static_cast<std::size_t>(id)];
        return {reinterpret_cast<T*>(at), static_cast<std::size_t>(type.bytes()) / sizeof(T)};
    }

    struct Call {
        std::vector<void*> inputs, outputs;
        void* workspace = nullptr;
    };
    void stage();
    void enqueue() const;
    void copy_inputs() const;
    void copy_outputs() const;

    const Plan& plan_;
    std::vector<std::byte*> addresses_;  // one a value
    std::vector<Call> calls_;            // one a step
    gpu::Device* device_ = nullptr;
    // Of a device: where the host has inputs and outputs, null for other values.
    std::byte* pinned_ = nullptr;
    std::vector<std::byte*> staged_;
    mutable bool warm_ = false;
    mutable std::unique_ptr<gpu::Recording> recording_;
};

}  // namespace mpt

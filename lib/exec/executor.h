// Runs a plan: kernels in order on fixed addresses. Decides nothing.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/store.h"
#include "plan/plan.h"

namespace mpt {

class Executor {
  public:
    // The plan and the store's memory must outlive the executor.
    Executor(const Plan& plan, const Store& store);

    void run() const;
    // Runs step by step; `after` is called after each with the node, e.g. to look for the first non-finite
    // value.
    void run(const std::function<void(const PlannedStep& step)>& after) const;

    template <typename T>
    std::span<T> input(const std::string& name) const {
        return view<T>(plan_.graph.input(name));
    }
    template <typename T>
    std::span<const T> output(const std::string& name) const {
        return view<const T>(plan_.graph.output(name));
    }
    bool has_input(const std::string& name) const;
    bool has_output(const std::string& name) const;
    // Address of any value; meaningful only while the value is alive.
    std::byte* address(ValueId id) const { return addresses_[static_cast<std::size_t>(id)]; }
    const Plan& plan() const { return plan_; }

  private:
    template <typename T>
    std::span<T> view(ValueId id) const {
        const TensorType& type = plan_.graph.type(id);
        return {reinterpret_cast<T*>(address(id)), static_cast<std::size_t>(type.bytes()) / sizeof(T)};
    }

    struct Call {
        std::vector<void*> inputs, outputs;
        void* workspace = nullptr;
    };

    const Plan& plan_;
    std::vector<std::byte*> addresses_;  // one a value
    std::vector<Call> calls_;            // one a step
};

}  // namespace mpt

#include "exec/executor.h"

#include <algorithm>

namespace mpt {

Executor::Executor(const Plan& plan, const Store& store) : plan_(plan) {
    for (const Placement& placement : plan.placements)
        addresses_.push_back(placement.stored ? store.address(placement.store.region, placement.store.offset)
                                              : store.step_arena() + placement.offset);
    for (const PlannedStep& step : plan.steps) {
        const Node& node = plan.graph.node(step.node);
        Call call;
        for (const ValueId in : node.inputs) call.inputs.push_back(in == kNone ? nullptr : address(in));
        for (const ValueId out : node.outputs) call.outputs.push_back(address(out));
        call.workspace = store.step_arena() + step.workspace_offset;
        calls_.push_back(std::move(call));
    }
}

bool Executor::has_input(const std::string& name) const {
    return std::ranges::any_of(plan_.graph.values, [&](const Value& value) {
        return value.kind == ValueKind::kInput && value.name == name;
    });
}

bool Executor::has_output(const std::string& name) const {
    return std::ranges::any_of(plan_.graph.outputs,
                               [&](const Graph::Output& output) { return output.name == name; });
}

void Executor::run() const {
    for (std::size_t s = 0; s < calls_.size(); ++s)
        plan_.steps[s].prepared.run({calls_[s].inputs, calls_[s].outputs, calls_[s].workspace});
}

void Executor::run(const std::function<void(const PlannedStep& step)>& after) const {
    for (std::size_t s = 0; s < calls_.size(); ++s) {
        plan_.steps[s].prepared.run({calls_[s].inputs, calls_[s].outputs, calls_[s].workspace});
        after(plan_.steps[s]);
    }
}

}  // namespace mpt

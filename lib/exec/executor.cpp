#include "exec/executor.h"

#include <algorithm>

namespace mpt {

Executor::Executor(const Plan& plan, const Store& store, gpu::Device* device) : plan_(plan), device_(device) {
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
    if (device_ != nullptr) stage();
}

Executor::~Executor() {
    if (pinned_ != nullptr) device_->release_pinned(pinned_);
}

void Executor::stage() {
    std::vector<ValueId> ids;
    for (std::size_t v = 0; v < plan_.graph.values.size(); ++v)
        if (plan_.graph.values[v].kind == ValueKind::kInput) ids.push_back(static_cast<ValueId>(v));
    for (const Graph::Output& output : plan_.graph.outputs) ids.push_back(output.value);
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
    for (const ValueId id : ids) {
        offsets.push_back(bytes);
        bytes += (static_cast<std::size_t>(plan_.graph.type(id).bytes()) + 255) / 256 * 256;
    }
    pinned_ = device_->allocate_pinned(std::max<std::size_t>(bytes, 1));
    staged_.assign(plan_.graph.values.size(), nullptr);
    for (std::size_t i = 0; i < ids.size(); ++i)
        staged_[static_cast<std::size_t>(ids[i])] = pinned_ + offsets[i];
}

void Executor::copy_inputs() const {
    for (std::size_t v = 0; v < plan_.graph.values.size(); ++v) {
        const Value& value = plan_.graph.values[v];
        if (value.kind == ValueKind::kInput)
            device_->copy(addresses_[v], staged_[v], static_cast<std::size_t>(value.type.bytes()));
    }
}

void Executor::copy_outputs() const {
    for (const Graph::Output& output : plan_.graph.outputs)
        device_->copy(staged_[static_cast<std::size_t>(output.value)], address(output.value),
                      static_cast<std::size_t>(plan_.graph.type(output.value).bytes()));
}

std::vector<std::byte> Executor::fetch(ValueId id) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(plan_.graph.type(id).bytes()));
    if (device_ == nullptr) {
        std::copy_n(address(id), bytes.size(), bytes.data());
        return bytes;
    }
    device_->copy(bytes.data(), address(id), bytes.size());
    device_->synchronize();
    return bytes;
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

void Executor::enqueue() const {
    for (std::size_t s = 0; s < calls_.size(); ++s)
        plan_.steps[s].prepared.run({calls_[s].inputs, calls_[s].outputs, calls_[s].workspace});
}

void Executor::run() const {
    if (device_ == nullptr) return enqueue();
    const auto all = [this] {
        copy_inputs();
        enqueue();
        copy_outputs();
    };
    if (!warm_) {
        all();
        warm_ = true;
        return;
    }
    if (!recording_) recording_ = device_->capture(all);
    recording_->replay();
}

void Executor::run(const std::function<void(const PlannedStep& step)>& after) const {
    if (device_ != nullptr) copy_inputs();
    for (std::size_t s = 0; s < calls_.size(); ++s) {
        plan_.steps[s].prepared.run({calls_[s].inputs, calls_[s].outputs, calls_[s].workspace});
        if (device_ != nullptr) device_->synchronize();
        after(plan_.steps[s]);
    }
}

}  // namespace mpt

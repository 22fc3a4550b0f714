#include "exec/executor.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"

namespace mpt {

namespace {

std::size_t bytes_of(const Graph& graph, ValueId id) {
    return static_cast<std::size_t>(graph.type(id).bytes());
}

}  // namespace

Executor::Executor(const Plan& plan, const Store& store, gpu::Device* device, Staging* staging)
    : plan_(plan), device_(device), staging_(staging) {
    MPT_CHECK(device_ != nullptr || plan.staging_bytes == 0, "inputs of a plan for a device, on a CPU");
    for (int s = 0; s < (device_ == nullptr ? 1 : 2); ++s) {
        slots_.push_back(slot_of(store, s));
        staging_memory_[s] = store.staging(s);
    }
    if (device_ == nullptr) return;
    if (staging_ == nullptr) {
        own_staging_ = std::make_unique<Staging>(*device_, static_cast<std::size_t>(plan.staged_input_bytes));
        staging_ = own_staging_.get();
    }
    place_outputs();
}

Executor::~Executor() {
    for (const Results& results : results_)
        if (results.pinned != nullptr) device_->release_pinned(results.pinned);
}

Executor::Slot Executor::slot_of(const Store& store, int index) const {
    Slot slot;
    for (const Placement& placement : plan_.placements) {
        std::byte* base = placement.staged ? store.staging(index) : store.step_arena();
        slot.addresses.push_back(placement.stored
                                     ? store.address(placement.store.region, placement.store.offset)
                                     : base + placement.offset);
    }
    const auto at = [&](ValueId id) -> void* {
        return id == kNone ? nullptr : slot.addresses[static_cast<std::size_t>(id)];
    };
    for (const PlannedStep& step : plan_.steps) {
        const Node& node = plan_.graph.node(step.node);
        Call call;
        for (const ValueId in : node.inputs) call.inputs.push_back(at(in));
        for (const ValueId out : node.outputs) call.outputs.push_back(at(out));
        call.workspace = store.step_arena() + step.workspace_offset;
        slot.calls.push_back(std::move(call));
    }
    return slot;
}

void Executor::place_outputs() {
    std::size_t bytes = 0;
    for (const Graph::Output& output : plan_.graph.outputs) {
        output_offsets_.push_back(bytes);
        bytes += (bytes_of(plan_.graph, output.value) + 255) / 256 * 256;
    }
    for (Results& results : results_) {
        results.pinned = device_->allocate_pinned(std::max<std::size_t>(bytes, 1));
        results.there = device_->make_event();
    }
}

std::byte* Executor::output_of(ValueId id, std::int64_t run) const {
    if (device_ == nullptr) return address(id);
    for (const Results& results : results_) {
        if (results.run != run) continue;
        results.there->wait();
        for (std::size_t o = 0; o < output_offsets_.size(); ++o)
            if (plan_.graph.outputs[o].value == id) return results.pinned + output_offsets_[o];
    }
    MPT_CHECK(false, "results of run " + std::to_string(run) + ", which are gone");
    return nullptr;
}

std::vector<std::byte> Executor::fetch(ValueId id) const {
    std::vector<std::byte> bytes(bytes_of(plan_.graph, id));
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

void Executor::run_step(const Slot& slot, std::size_t step) const {
    const PlannedStep& planned = plan_.steps[step];
    const Call& call = slot.calls[step];
    const gpu::RangeScope range(device_, plan_.graph.node(planned.node).name);
    planned.prepared.run({call.inputs, call.outputs, call.workspace});
}

void Executor::enqueue(const Slot& slot, Which which) const {
    for (std::size_t s = 0; s < slot.calls.size(); ++s)
        if (plan_.steps[s].early == (which == Which::kEarly)) run_step(slot, s);
}

void Executor::copy_outputs(const Slot& slot, const Results& results) const {
    for (std::size_t o = 0; o < output_offsets_.size(); ++o) {
        const ValueId id = plan_.graph.outputs[o].value;
        device_->copy(results.pinned + output_offsets_[o], slot.addresses[static_cast<std::size_t>(id)],
                      bytes_of(plan_.graph, id));
    }
}

void Executor::run_on_device(const std::function<void(const Slot& slot, Results& results)>& others) const {
    const bool stages = plan_.staging_bytes != 0;
    last_slot_ = stages ? static_cast<std::size_t>(staging_->next()) : 0;
    const Slot& slot = slots_[last_slot_];
    Staging::Slot* staged = stages ? &staging_->writable() : nullptr;
    if (stages) {
        device_->beside([&] {
            staged->read->order_after();
            device_->copy(staging_memory_[last_slot_], staged->pinned,
                          static_cast<std::size_t>(plan_.staged_input_bytes));
            enqueue(slot, Which::kEarly);
            staged->ready->record();
        });
        staged->ready->order_after();
    }
    Results& results = results_[static_cast<std::size_t>(++num_runs_ % 2)];
    results.run = num_runs_;
    others(slot, results);
    results.there->record();
    if (!stages) return;
    staged->read->record();
    staging_->turn();
}

std::int64_t Executor::run() const {
    if (device_ == nullptr) {
        for (std::size_t s = 0; s < slots_[0].calls.size(); ++s) run_step(slots_[0], s);
        return ++num_runs_;
    }
    run_on_device([this](const Slot& slot, Results& results) {
        const auto all = [&] {
            enqueue(slot, Which::kOthers);
            copy_outputs(slot, results);
        };
        if (num_runs_ == 1) return all();
        std::unique_ptr<gpu::Recording>& recording =
            recordings_[2 * last_slot_ + static_cast<std::size_t>(num_runs_ % 2)];
        if (!recording) recording = device_->capture(all);
        const gpu::RangeScope range(device_, plan_.graph.name);
        recording->replay();
    });
    return num_runs_;
}

void Executor::run(const std::function<void(const PlannedStep& step)>& after) const {
    if (device_ == nullptr) {
        ++num_runs_;
        for (std::size_t s = 0; s < slots_[0].calls.size(); ++s) {
            run_step(slots_[0], s);
            after(plan_.steps[s]);
        }
        return;
    }
    run_on_device([&](const Slot& slot, Results& results) {
        for (std::size_t s = 0; s < slot.calls.size(); ++s) {
            if (!plan_.steps[s].early) run_step(slot, s);
            device_->synchronize();
            after(plan_.steps[s]);
        }
        copy_outputs(slot, results);
    });
}

std::vector<double> Executor::run_timed() const {
    std::vector<double> ms(plan_.steps.size());
    if (device_ == nullptr) {
        ++num_runs_;
        for (std::size_t s = 0; s < ms.size(); ++s) {
            const double begin = now_seconds();
            run_step(slots_[0], s);
            ms[s] = 1e3 * (now_seconds() - begin);
        }
        return ms;
    }
    // Early steps once more, in their place among the others: beside them nothing could be told apart.
    std::vector<std::unique_ptr<gpu::Event>> events(ms.size() + 1);
    for (auto& event : events) event = device_->make_event();
    run_on_device([&](const Slot& slot, Results& results) {
        events[0]->record();
        for (std::size_t s = 0; s < ms.size(); ++s) {
            run_step(slot, s);
            events[s + 1]->record();
        }
        copy_outputs(slot, results);
    });
    device_->synchronize();
    for (std::size_t s = 0; s < ms.size(); ++s) ms[s] = events[s + 1]->ms_since(*events[s]);
    return ms;
}

}  // namespace mpt

#include "plan/plan.h"

#include <algorithm>

#include "core/error.h"
#include "graph/op.h"
#include "plan/arena_plan.h"

namespace mpt {

namespace {

struct Storage {
    bool stored = false, staged = false;
    StoreRef store = {};
    Lifetime life;
    ValueId owner = kNone;  // the value that first lives here
};

// Groups values that share memory and finds how long each group lives.
class StorageAssigner {
  public:
    explicit StorageAssigner(const Graph& graph)
        : graph_(graph), last_use_(graph.values.size(), -1), storage_of_(graph.values.size(), -1) {
        find_last_uses();
        place_sources();
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) place_outputs(static_cast<int>(n));
    }
    std::vector<Storage> storages;
    int storage_of(ValueId id) const { return storage_of_[static_cast<std::size_t>(id)]; }

  private:
    int last_use(ValueId id) const { return last_use_[static_cast<std::size_t>(id)]; }

    void find_last_uses() {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
            for (const ValueId in : graph_.nodes[n].inputs)
                if (in != kNone) last_use_[static_cast<std::size_t>(in)] = static_cast<int>(n);
            for (const ValueId out : graph_.nodes[n].outputs)
                last_use_[static_cast<std::size_t>(out)] = static_cast<int>(n);
        }
        for (const Graph::Output& output : graph_.outputs)
            last_use_[static_cast<std::size_t>(output.value)] = static_cast<int>(graph_.nodes.size());
    }

    void place_sources() {
        for (std::size_t v = 0; v < graph_.values.size(); ++v) {
            const Value& value = graph_.values[v];
            if (value.kind == ValueKind::kIntermediate) continue;
            Storage storage;
            storage.stored = value.kind == ValueKind::kStored;
            if (storage.stored) storage.store = *value.store;
            // Inputs are written before the first step and keep their place, used or not.
            storage.life = {value.type.bytes(), -1, static_cast<int>(graph_.nodes.size())};
            storage.owner = static_cast<ValueId>(v);
            add(static_cast<ValueId>(v), storage);
        }
    }

    void place_outputs(int step) {
        const Node& node = graph_.nodes[static_cast<std::size_t>(step)];
        std::vector<bool> done(node.outputs.size(), false);
        for (const Alias alias : node.op->must_alias) share(node, alias, step, done);
        if (node.op->is_view) share(node, {0, 0}, step, done);
        for (const Alias alias : node.op->may_alias) {
            if (static_cast<std::size_t>(alias.input) >= node.inputs.size() ||
                static_cast<std::size_t>(alias.output) >= node.outputs.size())
                continue;
            const ValueId in = node.inputs[static_cast<std::size_t>(alias.input)];
            if (in == kNone || done[static_cast<std::size_t>(alias.output)]) continue;
            const Value& value = graph_.value(in);
            const ValueId out = node.outputs[static_cast<std::size_t>(alias.output)];
            const Storage& storage = storages[static_cast<std::size_t>(storage_of(in))];
            const bool last =
                last_use(in) == step && storage.life.last == step && num_inputs_in(node, storage_of(in)) == 1;
            if (value.kind == ValueKind::kIntermediate && !storage.stored && last &&
                value.type.bytes() == graph_.type(out).bytes())
                share(node, alias, step, done);
        }
        for (std::size_t o = 0; o < node.outputs.size(); ++o) {
            if (done[o]) continue;
            const ValueId out = node.outputs[o];
            Storage storage;
            storage.life = {graph_.type(out).bytes(), step, last_use(out)};
            storage.owner = out;
            add(out, storage);
        }
    }

    std::int64_t num_inputs_in(const Node& node, int storage) const {
        return std::ranges::count_if(node.inputs,
                                     [&](ValueId in) { return in != kNone && storage_of(in) == storage; });
    }

    void share(const Node& node, Alias alias, int, std::vector<bool>& done) {
        const ValueId in = node.inputs[static_cast<std::size_t>(alias.input)];
        const ValueId out = node.outputs[static_cast<std::size_t>(alias.output)];
        if (in == kNone) return;
        const int storage = storage_of(in);
        storage_of_[static_cast<std::size_t>(out)] = storage;
        Lifetime& life = storages[static_cast<std::size_t>(storage)].life;
        life.last = std::max(life.last, last_use(out));
        done[static_cast<std::size_t>(alias.output)] = true;
    }

    void add(ValueId id, const Storage& storage) {
        storage_of_[static_cast<std::size_t>(id)] = static_cast<int>(storages.size());
        storages.push_back(storage);
    }

    const Graph& graph_;
    std::vector<int> last_use_;
    std::vector<int> storage_of_;
};

void choose_kernels(Plan& plan, const PlanOptions& options) {
    for (std::size_t n = 0; n < plan.graph.nodes.size(); ++n) {
        const Node& node = plan.graph.nodes[n];
        const Signature signature = signature_of(plan.graph, node, options.num_threads);
        PlannedStep step;
        step.node = static_cast<NodeId>(n);
        const Kernel* kernel = choose_kernel(*options.kernels, signature, &step.refusals);
        MPT_CHECK(kernel != nullptr, "no kernel for " + std::string(node.op->name) + " (" + node.name + ")");
        step.kernel = kernel->name;
        step.prepared = kernel->prepare(signature);
        if (!options.keep_kernels) step.prepared.run = nullptr;
        plan.workspace_bytes =
            std::max(plan.workspace_bytes, static_cast<std::int64_t>(step.prepared.workspace_bytes));
        plan.steps.push_back(std::move(step));
    }
}

void measure(Plan& plan, const std::vector<Storage>& storages) {
    const int num_steps = static_cast<int>(plan.graph.nodes.size());
    int first_backward = num_steps;
    for (int n = num_steps - 1; n >= 0; --n)
        if (plan.graph.node(n).phase == Phase::kBackward) first_backward = n;
    // What each step adds to the living, and what was gone before it.
    std::vector<std::int64_t> change(static_cast<std::size_t>(num_steps) + 2);
    for (const Storage& storage : storages) {
        if (storage.stored || plan.graph.value(storage.owner).kind == ValueKind::kInput) continue;
        const auto& [bytes, first, last] = storage.life;
        change[static_cast<std::size_t>(first)] += bytes;
        change[static_cast<std::size_t>(last) + 1] -= bytes;
        const bool kept = first < first_backward && first_backward <= last && last < num_steps;
        if (kept && first_backward < num_steps) plan.kept_bytes += bytes;
    }
    int peak_step = 0;
    std::int64_t live = 0;
    for (int step = 0; step < num_steps; ++step) {
        live += change[static_cast<std::size_t>(step)];
        if (live <= plan.activations_bytes) continue;
        plan.activations_bytes = live;
        peak_step = step;
    }
    for (const Storage& storage : storages) {
        if (storage.stored || storage.life.first > peak_step || storage.life.last < peak_step) continue;
        const Value& value = plan.graph.value(storage.owner);
        plan.at_peak.push_back({value.name,
                                to_string(value.type.shape) + std::string(name_of(value.type.dtype)),
                                storage.life.bytes});
    }
    std::ranges::stable_sort(plan.at_peak, std::greater<>{}, &MemoryReport::Live::bytes);
    if (plan.at_peak.size() > 10) plan.at_peak.resize(10);
}

// Steps that could run before a step, beside another: they read nothing but inputs and what such steps made
// of them, and need no memory that the other has.
void mark_early_steps(Plan& plan) {
    std::vector<bool> early(plan.graph.values.size());
    for (std::size_t v = 0; v < early.size(); ++v) early[v] = plan.graph.values[v].kind == ValueKind::kInput;
    for (PlannedStep& step : plan.steps) {
        const Node& node = plan.graph.node(step.node);
        step.early = !node.inputs.empty() && step.prepared.workspace_bytes == 0 &&
                     std::ranges::all_of(node.inputs, [&](ValueId in) {
                         return in == kNone || early[static_cast<std::size_t>(in)];
                     });
        if (step.early)
            for (const ValueId out : node.outputs) early[static_cast<std::size_t>(out)] = true;
    }
}

// Inputs come first, so that one copy brings all of them.
void place_staged(Plan& plan, std::vector<Storage>& storages, std::vector<std::int64_t>& offsets) {
    mark_early_steps(plan);
    const auto place = [&](std::size_t s) {
        storages[s].staged = true;
        offsets[s] = plan.staging_bytes;
        plan.staging_bytes +=
            (storages[s].life.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    };
    for (std::size_t s = 0; s < storages.size(); ++s)
        if (plan.graph.value(storages[s].owner).kind == ValueKind::kInput) place(s);
    plan.staged_input_bytes = plan.staging_bytes;
    for (std::size_t s = 0; s < storages.size(); ++s) {
        const NodeId producer = plan.graph.value(storages[s].owner).producer;
        if (!storages[s].stored && producer != kNone && plan.steps[static_cast<std::size_t>(producer)].early)
            place(s);
    }
}

}  // namespace

Plan compile(Graph graph, const PlanOptions& options) {
    Plan plan;
    plan.graph = std::move(graph);
    choose_kernels(plan, options);
    StorageAssigner assigner(plan.graph);
    std::vector<Storage>& storages = assigner.storages;
    std::vector<std::int64_t> offsets(storages.size());
    if (options.stage_inputs) place_staged(plan, storages, offsets);

    std::vector<Lifetime> lives;
    std::vector<int> life_of(storages.size(), -1);
    for (std::size_t s = 0; s < storages.size(); ++s) {
        if (storages[s].stored || storages[s].staged) continue;
        life_of[s] = static_cast<int>(lives.size());
        lives.push_back(storages[s].life);
    }
    const std::size_t num_storages = lives.size();
    for (std::size_t n = 0; n < plan.steps.size(); ++n)
        lives.push_back({static_cast<std::int64_t>(plan.steps[n].prepared.workspace_bytes),
                         static_cast<int>(n), static_cast<int>(n)});
    const ArenaPlan arena = plan_arena(lives);
    plan.arena_bytes = arena.bytes;
    for (std::size_t n = 0; n < plan.steps.size(); ++n)
        plan.steps[n].workspace_offset = arena.offsets[num_storages + n];
    for (std::size_t s = 0; s < storages.size(); ++s)
        if (life_of[s] >= 0) offsets[s] = arena.offsets[static_cast<std::size_t>(life_of[s])];

    plan.placements.resize(plan.graph.values.size());
    for (std::size_t v = 0; v < plan.graph.values.size(); ++v) {
        const int s = assigner.storage_of(static_cast<ValueId>(v));
        if (s < 0) continue;  // belongs to no node any more
        const Storage& storage = storages[static_cast<std::size_t>(s)];
        plan.placements[v] = {storage.stored, storage.staged, storage.store,
                              offsets[static_cast<std::size_t>(s)]};
    }
    measure(plan, storages);
    return plan;
}

std::string print(const Plan& plan) {
    std::string text;
    for (const PlannedStep& step : plan.steps) {
        const Node& node = plan.graph.node(step.node);
        text += node.name + ": " + std::string(node.op->name) + " by " + step.kernel;
        if (!step.prepared.description.empty() && step.prepared.description != step.kernel)
            text += " (" + step.prepared.description + ")";
        for (std::size_t o = 0; o < node.outputs.size(); ++o)
            text += (o ? ", " : " -> ") + std::string(name_of(plan.graph.type(node.outputs[o]).dtype)) +
                    to_string(plan.graph.type(node.outputs[o]).shape);
        if (const Placement& at = plan.placements[static_cast<std::size_t>(node.outputs.front())]; !at.stored)
            text += (at.staged ? " early @" : " @") + std::to_string(at.offset);
        if (step.prepared.workspace_bytes != 0)
            text += ", workspace " + std::to_string(step.prepared.workspace_bytes) + " @" +
                    std::to_string(step.workspace_offset);
        for (const std::string& refusal : step.refusals) text += "; not " + refusal;
        text += "\n";
    }
    return text;
}

}  // namespace mpt

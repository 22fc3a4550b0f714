// What a program says about itself: the precision it runs in, and where a value went wrong.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <map>

#include "backends/cpu/threads.h"
#include "graph/op.h"
#include "train/training_program_state.h"
#include "train/value_statistics.h"

namespace mpt {

namespace {

enum class GradientState { kZero, kFinite, kNonFinite };

GradientState gradient_state(const float* gradient, std::int64_t elements, int num_threads) {
    std::atomic<bool> zero = true, finite = true;
    cpu::parallel_for(elements, 1 << 16, num_threads, [&](cpu::Range range, int) {
        constexpr std::uint32_t kExponent = 0x7f800000U;  // all ones: infinite or NaN
        std::uint32_t any = 0, bad = 0;
        for (std::int64_t i = range.begin; i < range.end; ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(gradient[i]);
            any |= bits & 0x7fffffffU;
            bad |= (bits & kExponent) == kExponent ? 1U : 0U;
        }
        if (any != 0) zero = false;
        if (bad != 0) finite = false;
    });
    if (!finite) return GradientState::kNonFinite;
    return zero ? GradientState::kZero : GradientState::kFinite;
}

// Keeps what a micro-step changes, and gives it back at the end of the scope. Gradients may be as large as
// the model: right after an update they are zero, and of a window that is lost already only that needs to
// stay.
class RegionGuard {
  public:
    RegionGuard(TrainingProgram& program, int num_threads)
        : program_(program),
          gradient_(reinterpret_cast<float*>(program.region(Region::kGradient))),
          elements_(program.variables().parameter_elements()),
          state_(gradient_state(gradient_, elements_, num_threads)),
          statistics_(bytes_of(Region::kStatistics)),
          control_(bytes_of(Region::kControl)),
          scaling_(bytes_of(Region::kScaling)) {
        if (state_ == GradientState::kFinite) kept_.assign(gradient_, gradient_ + elements_);
        if (state_ == GradientState::kNonFinite) std::fill_n(gradient_, elements_, 0.0f);
    }
    ~RegionGuard() {
        restore(Region::kStatistics, statistics_);
        restore(Region::kControl, control_);
        restore(Region::kScaling, scaling_);
        if (state_ == GradientState::kFinite)
            std::ranges::copy(kept_, gradient_);
        else
            std::fill_n(gradient_, elements_, 0.0f);
        if (state_ == GradientState::kNonFinite) gradient_[0] = std::numeric_limits<float>::quiet_NaN();
    }
    RegionGuard(const RegionGuard&) = delete;
    RegionGuard& operator=(const RegionGuard&) = delete;

  private:
    std::vector<std::byte> bytes_of(Region region) const {
        const std::byte* from = program_.region(region);
        if (from == nullptr) return {};
        return {from, from + program_.variables().region_bytes(region)};
    }
    void restore(Region region, const std::vector<std::byte>& bytes) {
        if (!bytes.empty()) std::memcpy(program_.region(region), bytes.data(), bytes.size());
    }

    TrainingProgram& program_;
    float* gradient_;
    std::int64_t elements_;
    GradientState state_;
    std::vector<std::byte> statistics_, control_, scaling_;
    std::vector<float> kept_;
};

std::string describe(const Graph& graph, ValueId id, const std::string& what,
                     const ValueStatistics& statistics) {
    const TensorType& type = graph.type(id);
    return graph.value(id).name + " (" + what + ", " + std::string(name_of(type.dtype)) +
           to_string(type.shape) + "): " + print_nonfinite(statistics);
}

// Values that a node reads and none made: weights, running statistics, the batch.
bool is_source(const Value& value) {
    if (value.kind == ValueKind::kInput) return true;
    return value.kind == ValueKind::kStored && value.store->region != Region::kGradient &&
           value.store->region != Region::kControl;
}

// Of stored values that hold some non-finite number.
using Spoiled = std::map<ValueId, ValueStatistics>;

bool overwrites(const Executor& executor, const Node& node, ValueId in) {
    return std::ranges::any_of(node.outputs,
                               [&](ValueId out) { return executor.address(out) == executor.address(in); });
}

// What nodes update in place is seen only afterwards, so what it held before must be known.
Spoiled spoiled_before(const Executor& executor, TrainingProgram& program) {
    const Graph& graph = executor.plan().graph;
    Spoiled spoiled;
    for (const Node& node : graph.nodes)
        for (const ValueId in : node.inputs) {
            if (in == kNone || graph.value(in).kind != ValueKind::kStored || !is_source(graph.value(in)) ||
                !is_float(graph.type(in).dtype) || !overwrites(executor, node, in))
                continue;
            const StoreRef& at = *graph.value(in).store;
            const std::byte* data = program.region(at.region) +
                                    at.offset * static_cast<std::int64_t>(size_of(graph.type(in).dtype));
            const ValueStatistics statistics = statistics_of(data, graph.type(in));
            if (statistics.nonfinite > 0) spoiled.emplace(in, statistics);
        }
    return spoiled;
}

ValueStatistics statistics_before(const Executor& executor, const Node& node, ValueId in,
                                  const Spoiled& spoiled) {
    if (!overwrites(executor, node, in))
        return statistics_of(executor.fetch(in).data(), executor.plan().graph.type(in));
    const auto found = spoiled.find(in);
    return found == spoiled.end() ? ValueStatistics{} : found->second;
}

NonFinitePlace nonfinite_of(const Executor& executor, const Node& node, const Spoiled& spoiled) {
    const Graph& graph = executor.plan().graph;
    for (const ValueId in : node.inputs) {
        if (in == kNone || !is_float(graph.type(in).dtype) || !is_source(graph.value(in))) continue;
        const ValueStatistics statistics = statistics_before(executor, node, in, spoiled);
        const bool stored = graph.value(in).kind == ValueKind::kStored;
        if (statistics.nonfinite > 0)
            return {describe(graph, in, (stored ? "stored, read by " : "input, read by ") + node.name,
                             statistics),
                    stored, false, graph.type(in).dtype == DType::f16};
    }
    for (const ValueId out : node.outputs) {
        if (!is_float(graph.type(out).dtype)) continue;
        const ValueStatistics statistics = statistics_of(executor.fetch(out).data(), graph.type(out));
        if (statistics.nonfinite > 0)
            return {describe(graph, out, std::string(node.op->name) + ", " + name_of(node.phase), statistics),
                    false, node.phase == Phase::kBackward, graph.type(out).dtype == DType::f16};
    }
    return {};
}

}  // namespace

void TrainingProgram::replay(float loss_scale, const StepObserver& observer) {
    impl_->require_store();
    const auto found = impl_->micro_steps.find(impl_->last_micro_batch.shape);
    if (found == impl_->micro_steps.end()) return;
    for (StartedRun& started : impl_->started) Impl::read_results(started);
    const RegionGuard guard(*this, impl_->num_threads);
    StepControl scaled = control();
    scaled.loss_scale = loss_scale;
    set_control(scaled);
    impl_->fill_inputs(*found->second.executor, impl_->last_micro_batch, &impl_->last_place);
    const Executor& executor = *found->second.executor;
    impl_->memory.before_step();
    executor.run([&](const PlannedStep& step) {
        if (impl_->observer) impl_->observer(executor, step);
        observer(executor, step);
    });
    impl_->memory.after_step();
}

NonFinitePlace TrainingProgram::first_nonfinite_place(float loss_scale) {
    impl_->require_store();
    const auto found = impl_->micro_steps.find(impl_->last_micro_batch.shape);
    if (found == impl_->micro_steps.end()) return {};
    const Spoiled spoiled = spoiled_before(*found->second.executor, *this);
    NonFinitePlace first;
    replay(loss_scale, [&](const Executor& executor, const PlannedStep& step) {
        if (first.text.empty())
            first = nonfinite_of(executor, executor.plan().graph.node(step.node), spoiled);
    });
    return first;
}

namespace {

std::int64_t num_fp8_products(const Graph& graph) {
    return std::ranges::count_if(graph.nodes, [&](const Node& node) {
        return std::ranges::any_of(node.inputs,
                                   [&](ValueId in) { return in != kNone && is_fp8(graph.type(in).dtype); });
    });
}

bool multiplies_bf16(const Plan& plan) {
    return std::ranges::any_of(
        plan.steps, [](const PlannedStep& step) { return step.prepared.description.starts_with("bf16"); });
}

}  // namespace

std::string TrainingProgram::precision_summary() const {
    const PrecisionMode mode = impl_->config.precision.mode;
    const CompiledPlan& compiled = impl_->micro_steps.at(impl_->data.micro_batch);
    const DType narrow = narrow_type(mode);
    std::string text = "precision " + std::string(name_of(mode)) + ": ";
    const gpu::Device* device = impl_->device;
    const std::string where = device == nullptr ? "on this CPU" : "on " + name_of_device(device);
    if (mode == PrecisionMode::kTf32 && device != nullptr)
        text += "stored in f32, products rounded to tf32 with f32 sums " + where;
    else if (mode == PrecisionMode::kTf32)
        text += "a CPU has no TF32, so it is f32 here";
    else if (narrow == DType::f32)
        text += "stored and computed in f32";
    else if (device != nullptr)
        text += "stored in " + std::string(name_of(narrow)) + ", products of it with f32 sums " + where +
                (mode == PrecisionMode::kFp16Pure ? ", no f32 masters" : ", f32 masters");
    else
        text += "stored in " + std::string(name_of(narrow)) + ", computed in f32 on this CPU" +
                (multiplies_bf16(compiled.plan) ? " but for matrix products of bf16 with sums in f32" : "") +
                (mode == PrecisionMode::kFp16Pure ? ", no f32 masters" : ", f32 masters");
    if (mode == PrecisionMode::kFp8)
        text += "; " + std::to_string(num_fp8_products(compiled.plan.graph)) +
                " products of the blocks' linear layers in fp8 (e4m3, gradients e5m2, delayed scaling)" +
                (device == nullptr ? ", emulated: this CPU has no fp8, its numbers are rounded as a GPU does "
                                     "and multiplied as others"
                                   : "");
    std::int64_t narrow_values = 0, casts = 0;
    for (const Node& node : compiled.plan.graph.nodes) {
        casts += node.op == op_table().roles.cast_op ? 1 : 0;
        for (const ValueId out : node.outputs)
            narrow_values += is_narrow(compiled.plan.graph.type(out).dtype) ? 1 : 0;
    }
    text += "; " + std::to_string(compiled.plan.graph.nodes.size()) + " nodes a micro-step, " +
            std::to_string(narrow_values) + " narrow values, " + std::to_string(casts) + " casts";
    for (const std::string& line : compiled.widened) text += "\n" + line;
    return text;
}

}  // namespace mpt

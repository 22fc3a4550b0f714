// What a program says about itself: the precision it runs in, and where a value went wrong.
#include <cmath>

#include "core/float_formats.h"
#include "train/training_program_state.h"

namespace mpt {

namespace {

std::int64_t count_nonfinite(const std::byte* data, const TensorType& type) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < type.shape.num_elements(); ++i) {
        float value = 0;
        if (type.dtype == DType::f32)
            value = reinterpret_cast<const float*>(data)[i];
        else if (type.dtype == DType::f16)
            value = static_cast<float>(reinterpret_cast<const f16*>(data)[i]);
        else if (type.dtype == DType::bf16)
            value = static_cast<float>(reinterpret_cast<const bf16*>(data)[i]);
        if (!std::isfinite(value)) ++count;
    }
    return count;
}

}  // namespace

std::string TrainingProgram::first_nonfinite() {
    const auto found = impl_->micro_steps.find(impl_->last_micro_batch);
    if (found == impl_->micro_steps.end() || found->second.executor == nullptr) return {};
    const Executor& executor = *found->second.executor;
    const Graph& graph = executor.plan().graph;
    std::string first;
    impl_->memory.before_step();
    executor.run([&](const PlannedStep& step) {
        if (!first.empty()) return;
        const Node& node = graph.node(step.node);
        for (const ValueId out : node.outputs) {
            const TensorType& type = graph.type(out);
            if (!is_float(type.dtype)) continue;
            const std::int64_t count = count_nonfinite(executor.fetch(out).data(), type);
            if (count == 0 || !first.empty()) continue;
            first = graph.value(out).name + " (" + std::string(node.op->name) + ", " + name_of(node.phase) +
                    ", " + std::string(name_of(type.dtype)) + to_string(type.shape) +
                    "): " + std::to_string(count) + " of " + std::to_string(type.shape.num_elements()) +
                    " elements";
        }
    });
    impl_->memory.after_step();
    return first;
}

namespace {

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

#include "generate/inference.h"

#include <algorithm>

#include "core/error.h"
#include "core/float_formats.h"
#include "passes/pipeline.h"

namespace mpt {
namespace {

template <typename T>
void widen(const T* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace

InferenceWeights::InferenceWeights(const std::vector<GraphBuild>& graphs, const InferenceOptions& options)
    : options_(options) {
    for (const GraphBuild& build : graphs) {
        Graph graph;
        GraphBuilder builder(graph, &table_);
        build(builder);
    }
    table_.enable(Region::kGradient, DType::f32, 0);
    const StoreLayout layout = lay_out(table_, 0);
    arena_ = cpu::Arena(layout.bytes, true, options.num_threads);
    store_ = Store(table_, layout, arena_.data());
}

void InferenceWeights::copy_from(const VariableTable& table, const std::byte* masters) {
    const DType type = table.region(Region::kMaster).dtype;
    for (const Variable& variable : table_.all()) {
        const int index = table.find(variable.name);
        MPT_CHECK(index >= 0 && table[index].shape == variable.shape,
                  "the other model has no weight " + variable.name + " " + to_string(variable.shape));
        const std::byte* from = masters + table[index].offset * static_cast<std::int64_t>(size_of(type));
        float* to = reinterpret_cast<float*>(this->masters()) + variable.offset;
        const std::int64_t count = variable.shape.num_elements();
        if (type == DType::f16)
            widen(reinterpret_cast<const f16*>(from), count, to);
        else if (type == DType::bf16)
            widen(reinterpret_cast<const bf16*>(from), count, to);
        else
            std::copy_n(reinterpret_cast<const float*>(from), count, to);
    }
}

InferencePlan::InferencePlan(InferenceWeights& weights, const std::string& name, const GraphBuild& build) {
    Graph graph;
    graph.name = name;
    const std::size_t num_weights = weights.table_.all().size();
    GraphBuilder builder(graph, &weights.table_);
    build(builder);
    MPT_CHECK(weights.table_.all().size() == num_weights, name + " uses weights that were not declared");
    PipelineOptions options;
    options.kind = GraphKind::kEvaluate;
    options.num_threads = weights.options_.num_threads;
    options.kernels = weights.options_.kernels;
    run_pipeline(builder, kNone, kNone, options);
    plan_ = compile(std::move(graph), {weights.options_.kernels, weights.options_.num_threads});
    arena_ = cpu::Arena(plan_.arena_bytes, true, weights.options_.num_threads);
    executor_ = std::make_unique<Executor>(plan_, weights.store_.with_step_arena(arena_.data()));
}

}  // namespace mpt

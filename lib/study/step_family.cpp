#include "study/step_family.h"

#include <algorithm>

#include "core/error.h"
#include "exec/store.h"
#include "train/program_graphs.h"

namespace mpt {

namespace {

// Accepts everything and needs nothing: for the memory of values alone.
const KernelTable& weightless_kernels() {
    static const KernelTable table = [] {
        KernelTable t;
        for (const auto& [op, kernels] : cpu_kernels().by_op)
            t.add({op, "planned", nullptr, [](const Signature&) { return PreparedKernel{}; }});
        return t;
    }();
    return table;
}

void enable_regions(VariableTable& variables, PrecisionMode mode) {
    const DType narrow = narrow_type(mode);
    if (narrow == DType::f32) return;
    variables.enable(mode == PrecisionMode::kFp16Pure ? Region::kMaster : Region::kNarrow, narrow,
                     variables.parameter_elements());
}

}  // namespace

StepFamily::StepFamily(RunConfig config, const DataDescription& data, int num_threads, StepVariant variant)
    : variant_(variant), num_threads_(num_threads), shape_(data.micro_batch), second_rows_(2 * shape_.rows) {
    config.precision.mode = variant.mode;
    config.memory.recompute = variant.recompute;
    if (variant.style == Style::kPlain) config.debug.skip_passes.push_back("fuse");
    const GraphContext context{config, data, variables_, cpu_kernels(), num_threads, nullptr};
    graph_ = micro_step_graph(context, shape_).graph;
    second_ = micro_step_graph(context, {second_rows_, shape_.length, shape_.source_length}).graph;
    MPT_CHECK(graph_.values.size() == second_.values.size(), "the graph's form depends on the micro-batch");
    const UpdateConfig update = update_config(config, data.updates_per_epoch, data.total_updates,
                                              decay_groups(variables_, {}).segments);
    enable_regions(variables_, variant.mode);
    enable_update_regions(variables_, update);
    update_ = update_graph(context, update).graph;
    update_arena_bytes_ = planned(update_, Workspaces::kIgnored).arena_bytes;
}

Graph StepFamily::at(std::int64_t rows) const {
    Graph graph = graph_;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        std::vector<std::int64_t> dims = graph.values[v].type.shape.dims();
        const std::vector<std::int64_t>& other = second_.values[v].type.shape.dims();
        for (std::size_t d = 0; d < dims.size() && d < other.size(); ++d)
            dims[d] += (other[d] - dims[d]) * (rows - shape_.rows) / (second_rows_ - shape_.rows);
        graph.values[v].type.shape = Shape(std::move(dims));
    }
    return graph;
}

Plan StepFamily::planned(const Graph& graph, Workspaces workspaces) const {
    const KernelTable& kernels = workspaces == Workspaces::kIgnored ? weightless_kernels() : cpu_kernels();
    return compile(graph, {&kernels, num_threads_, false});
}

MemoryReport StepFamily::memory(std::int64_t rows, Workspaces workspaces) const {
    const Plan plan = planned(rows == shape_.rows ? graph_ : at(rows), workspaces);
    MemoryReport report;
    report.weights_bytes = variables_.region_bytes(Region::kMaster);
    report.narrow_bytes = variables_.region_bytes(Region::kNarrow);
    report.gradients_bytes = variables_.region_bytes(Region::kGradient);
    report.optimizer_bytes = variables_.region_bytes(Region::kMoment1) +
                             variables_.region_bytes(Region::kMoment2) +
                             variables_.region_bytes(Region::kEma);
    report.statistics_bytes =
        variables_.region_bytes(Region::kStatistics) + variables_.region_bytes(Region::kControl);
    report.activations_bytes = plan.activations_bytes;
    report.workspace_bytes = plan.workspace_bytes;
    report.at_peak = plan.at_peak;
    report.arena_bytes = lay_out(variables_, std::max(plan.arena_bytes, update_arena_bytes_)).bytes;
    return report;
}

std::int64_t StepFamily::largest_micro_batch(std::int64_t bytes, Workspaces workspaces) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 22;
    constexpr int kAimed = 6;  // steps along the line; then halves, should the line mislead
    const std::int64_t fixed = lay_out(variables_, 0).bytes;
    std::int64_t low = 0, high = kMost + 1;  // low fits, high does not
    std::int64_t guess = shape_.rows;
    for (int step = 0; high - low > 1; ++step) {
        const std::int64_t need = memory(guess, workspaces).arena_bytes;
        (need <= bytes ? low : high) = guess;
        // Memory is very nearly a line over the micro-batch.
        const double each = static_cast<double>(need - fixed) / static_cast<double>(guess);
        const double aim = static_cast<double>(bytes - fixed) / std::max(each, 1.0);
        std::int64_t next = static_cast<std::int64_t>(std::clamp(aim, 0.0, static_cast<double>(kMost)));
        if (step >= kAimed) next = high <= kMost ? low + (high - low) / 2 : 2 * low;
        guess = std::max(low + 1, std::min(next, high - 1));
    }
    return low;
}

}  // namespace mpt

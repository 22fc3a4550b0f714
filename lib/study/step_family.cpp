#include "study/step_family.h"

#include <algorithm>

#include "core/error.h"
#include "exec/store.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/reshape/reshape.h"
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

// A line through two sizes, at a third.
struct Line {
    std::int64_t first, second, wanted;
    std::int64_t through(std::int64_t a, std::int64_t b) const {
        return a + (b - a) * (wanted - first) / (second - first);
    }
    Shape through(const Shape& a, const Shape& b) const {
        std::vector<std::int64_t> dims = a.dims();
        const std::vector<std::int64_t>& other = b.dims();
        for (std::size_t d = 0; d < dims.size() && d < other.size(); ++d)
            dims[d] = through(dims[d], other[d]);
        return Shape(std::move(dims));
    }
};

template <typename T>
Attributes with_count(const Node& a, const Node& b, const Line& line) {
    T attributes = a.attributes.as<T>();
    attributes.count = line.through(attributes.count, b.attributes.as<T>().count);
    return attributes;
}

// The ops whose attributes speak of the micro-batch.
Attributes attributes_between(const Node& a, const Node& b, const Line& line) {
    if (a.attributes == b.attributes) return a.attributes;
    if (a.op == &running_statistics_op) return with_count<RunningStatisticsAttributes>(a, b, line);
    if (a.op == &batch_norm_fold_op) return with_count<BatchNormFoldAttributes>(a, b, line);
    if (a.op == &batch_norm_backward_fold_op) return with_count<BatchNormBackwardFoldAttributes>(a, b, line);
    MPT_CHECK(a.op == &reshape_op, "attributes of " + a.name + " depend on the micro-batch");
    return ReshapeAttributes{
        line.through(a.attributes.as<ReshapeAttributes>().shape, b.attributes.as<ReshapeAttributes>().shape)};
}

bool same_form(const Graph& a, const Graph& b) {
    return a.values.size() == b.values.size() &&
           std::ranges::equal(a.nodes, b.nodes, [](const Node& x, const Node& y) {
               return x.op == y.op && x.inputs == y.inputs && x.outputs == y.outputs;
           });
}

}  // namespace

StepFamily::StepFamily(RunConfig config, const DataDescription& data, int num_threads, StepVariant variant)
    : variant_(variant), num_threads_(num_threads), shape_(data.micro_batch), second_rows_(2 * shape_.rows) {
    config.precision.mode = variant.mode;
    config.memory.recompute = variant.recompute;
    if (variant.style == Style::kPlain) config.debug.skip_passes.push_back("fuse");
    const GraphContext context{config, data, variables_, cpu_kernels(), num_threads, nullptr};
    CompiledGraph compiled = micro_step_graph(context, shape_);
    graph_ = std::move(compiled.graph);
    fusion_ = std::move(compiled.report.fusion);
    not_in_fp8_ = std::move(compiled.report.not_in_fp8);
    second_ = micro_step_graph(context, {second_rows_, shape_.length, shape_.source_length}).graph;
    MPT_CHECK(same_form(graph_, second_), "the graph's form depends on the micro-batch");
    const UpdateConfig update = update_config(config, data.updates_per_epoch, data.total_updates,
                                              decay_groups(variables_, {}).segments);
    enable_regions(variables_, variant.mode);
    enable_update_regions(variables_, update);
    update_ = update_graph(context, update).graph;
    update_arena_bytes_ = planned(update_, Workspaces::kIgnored).arena_bytes;
}

Graph StepFamily::at(std::int64_t rows) const {
    Graph graph = graph_;
    const Line line{shape_.rows, second_rows_, rows};
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
        Shape& shape = graph.values[v].type.shape;
        shape = line.through(shape, second_.values[v].type.shape);
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        graph.nodes[n].attributes = attributes_between(graph.nodes[n], second_.nodes[n], line);
    // What is rounded up to a multiple lies on no line.
    for (const Node& node : graph.nodes) {
        const std::vector<TensorType> types = node.op->infer(node.attributes, input_types(graph, node));
        for (std::size_t o = 0; o < types.size(); ++o) graph.value(node.outputs[o]).type = types[o];
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
    report.statistics_bytes = variables_.region_bytes(Region::kStatistics) +
                              variables_.region_bytes(Region::kControl) +
                              variables_.region_bytes(Region::kScaling);
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

#include "study/cudnn_study.h"

#include <algorithm>
#include <optional>

#include "backends/cuda/planned_convolutions.h"
#include "backends/cuda/spec_text.h"
#include "graph/op.h"
#include "ops/conv2d/conv2d.h"
#include "study/jobs.h"

namespace mpt {

namespace {

using gpu::ConvolutionKind;
using gpu::ConvolutionSpec;

// Shapes of x, w and y, whichever of them the node makes.
ConvolutionSpec spec_of(ConvolutionKind kind, const Shape& x, const Shape& w, const Shape& y) {
    ConvolutionSpec spec;
    spec.kind = kind;
    spec.n = x[0], spec.h = x[1], spec.w = x[2], spec.c = x[3];
    spec.k = w[0], spec.r = w[1], spec.s = w[2];
    spec.p = y[1], spec.q = y[2];
    return spec;
}

std::optional<ConvolutionSpec> spec_of(const Graph& graph, const Node& node) {
    const auto in = [&](std::size_t i) -> const Shape& { return graph.type(node.inputs[i]).shape; };
    const Shape& out = graph.type(node.outputs[0]).shape;
    const auto finish = [&](ConvolutionSpec spec, const auto& attributes) {
        spec.stride = attributes.stride;
        spec.pad = attributes.pad;
        spec.dtype = graph.type(node.inputs[0]).dtype;
        return spec;
    };
    if (node.op == &conv2d_op)
        return finish(spec_of(ConvolutionKind::kForward, in(0), in(1), out),
                      node.attributes.as<Conv2dAttributes>());
    if (node.op == &conv2d_backward_data_op)
        return finish(spec_of(ConvolutionKind::kBackwardData, out, in(1), in(0)),
                      node.attributes.as<Conv2dBackwardDataAttributes>());
    if (node.op == &conv2d_backward_weight_op)
        return finish(spec_of(ConvolutionKind::kBackwardWeight, in(1), out, in(0)),
                      node.attributes.as<Conv2dBackwardWeightAttributes>());
    return std::nullopt;
}

}  // namespace

std::int64_t CudnnStudy::most_workspace_bytes() const {
    std::int64_t most = 0;
    for (const CudnnRow& row : rows) most = std::max(most, row.workspace_bytes);
    return most;
}

CudnnStudy cudnn_study(const Graph& graph, const Gpu& gpu, const CudnnQuestion& question) {
    CudnnStudy study;
    std::vector<ConvolutionSpec> specs;
    for (const Node& node : graph.nodes) {
        std::optional<ConvolutionSpec> spec = spec_of(graph, node);
        if (!spec) continue;
        spec->tf32 = question.tf32 == Tf32::kOn;
        if (is_narrow(spec->dtype)) spec->dtype = question.narrow;
        const auto known = std::ranges::find(specs, *spec);
        if (known == specs.end()) {
            specs.push_back(*spec);
            study.rows.push_back({gpu::text_of(*spec), 1, "", 0, false});
        } else {
            ++study.rows[static_cast<std::size_t>(known - specs.begin())].count;
        }
    }
    if (specs.empty()) return study;
    const std::string device = gpu.device_properties();
    std::vector<gpu::PlannedConvolutions> planned(specs.size());
    std::vector<Job> jobs;
    for (std::size_t s = 0; s < specs.size(); ++s)
        jobs.push_back([&, s] { planned[s] = gpu::plan_convolutions(device, {specs[s]}); });
    run_jobs(jobs, question.num_threads);
    study.version = planned.front().version;
    study.reason = planned.front().reason;
    if (study.version.empty()) study.rows.clear();
    for (std::size_t r = 0; r < study.rows.size(); ++r) {
        const gpu::PlannedConvolution& plan = planned[r].plans.front();
        study.rows[r].engine = plan.engine;
        study.rows[r].workspace_bytes = plan.workspace_bytes;
        study.rows[r].tensor_cores = plan.tensor_cores;
    }
    return study;
}

}  // namespace mpt

#include "study/audit.h"

#include "graph/op.h"

namespace mpt {

namespace {

std::string types_of(const Graph& graph, const std::vector<ValueId>& values) {
    std::string text;
    for (const ValueId id : values)
        if (id != kNone) text += (text.empty() ? "" : ", ") + std::string(name_of(graph.type(id).dtype));
    return text;
}

DType data_type(const Graph& graph, const Node& node) {
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
        if (is_data_input(graph, node, i)) return graph.type(node.inputs[static_cast<std::size_t>(i)]).dtype;
    return DType::f32;
}

std::string computed_by_cpu(const Graph& graph, const PlannedStep& step) {
    const DType data = data_type(graph, graph.node(step.node));
    if (is_fp8(data)) return data == DType::e5m2 ? "fp8 (e5m2 gradients), emulated" : "fp8 (e4m3), emulated";
    if (step.prepared.description.starts_with("bf16")) return "bf16 products";
    return is_narrow(data) ? "f32, widened from " + std::string(name_of(data)) : "f32";
}

std::string computed_in(const Graph& graph, const Node& node, const AuditFor& audit) {
    const DType data = data_type(graph, node);
    const Gpu* gpu = audit.gpu;
    std::vector<NodeWork> work(1);
    work.front().products = products_of(graph, node);
    if (work.front().products.empty()) return "f32";
    const ComputeFormat format = compute_format(work.front().products.front(), audit.tf32, *gpu);
    if (format == ComputeFormat::kFp8)
        return data == DType::e4m3 ? "fp8 (e4m3) Tensor Cores" : "fp8 (e5m2 gradients) Tensor Cores";
    if (format == ComputeFormat::kF32)
        return is_narrow(data) ? "f32: " + gpu->generation() + " multiplies no " + std::string(name_of(data))
                               : "f32, TF32 off";
    return std::string(name_of(format)) + " Tensor Cores" +
           (format == ComputeFormat::kTf32 ? ", TF32 on" : "");
}

// Behind "name stays type: ".
std::string reason_of(const std::string& line) {
    return line.substr(line.find(": ") + 2);
}

std::string cast_reason(const Graph& graph, const Node& cast) {
    for (const NodeId user : graph.users(cast.outputs[0])) {
        const Node& reader = graph.node(user);
        const std::string to(name_of(graph.type(cast.outputs[0]).dtype));
        const std::string op(reader.op->name);
        switch (reader.op->precision) {
            case PrecisionClass::kWide:
                return reader.name + " (" + op + ") is computed wide: it needs " + to;
            case PrecisionClass::kNarrow:
                return reader.name + " (" + op + ") multiplies in " + to;
            case PrecisionClass::kFixed:
                return reader.name + " (" + op + ") is never narrowed";
            default:
                return reader.name + " (" + op + ") follows its other input";
        }
    }
    return "an output of the graph";
}

}  // namespace

std::vector<AuditRow> audit_of(const Plan& plan, const AuditFor& audit) {
    std::vector<AuditRow> rows;
    for (const PlannedStep& step : plan.steps) {
        const Node& node = plan.graph.node(step.node);
        AuditRow row;
        row.node = node.name;
        row.op = node.op->name;
        row.phase = name_of(node.phase);
        row.storage = types_of(plan.graph, node.inputs) + " -> " + types_of(plan.graph, node.outputs);
        row.compute =
            audit.gpu == nullptr ? computed_by_cpu(plan.graph, step) : computed_in(plan.graph, node, audit);
        row.accumulate = "f32";
        if (audit.gpu == nullptr) {
            row.kernel = step.kernel;
            if (!step.prepared.description.empty() && step.prepared.description != step.kernel)
                row.kernel += " (" + step.prepared.description + ")";
            row.refused = step.refusals;
        }
        for (const std::string& line : audit.not_in_fp8)
            if (line.starts_with(node.name + " stays")) row.refused.push_back("fp8: " + reason_of(line));
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<CastRow> casts_of(const Graph& graph) {
    std::vector<CastRow> rows;
    for (const Node& node : graph.nodes) {
        if (node.op != op_table().roles.cast_op) continue;
        const Value& from = graph.value(node.inputs[0]);
        const Value& to = graph.value(node.outputs[0]);
        rows.push_back({from.name, std::string(name_of(from.type.dtype)), std::string(name_of(to.type.dtype)),
                        cast_reason(graph, node), from.type.bytes() + to.type.bytes()});
    }
    return rows;
}

}  // namespace mpt

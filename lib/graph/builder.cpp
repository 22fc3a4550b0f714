#include "graph/builder.h"

#include <algorithm>

#include "core/error.h"

namespace mpt {

ValueId GraphBuilder::input(const std::string& name, TensorType type) {
    graph_.values.push_back({name, std::move(type), ValueKind::kInput});
    return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId GraphBuilder::stored(const std::string& name, TensorType type, StoreRef place) {
    for (std::size_t i = 0; i < graph_.values.size(); ++i)
        if (graph_.values[i].store == place && graph_.values[i].type == type) return static_cast<ValueId>(i);
    graph_.values.push_back({name, std::move(type), ValueKind::kStored, kNone, 0, place});
    return static_cast<ValueId>(graph_.values.size()) - 1;
}

ValueId GraphBuilder::parameter(const std::string& name, const Shape& shape, Role role, Initializer init,
                                FileLayout layout) {
    MPT_CHECK(variables_ != nullptr, "this builder has no variable table");
    const std::string full = scoped(name);
    const Variable& variable = (*variables_)[variables_->get_or_add(full, shape, role, init, layout)];
    const Region region = is_statistic(role) ? Region::kStatistics : Region::kMaster;
    return stored(full, {shape, DType::f32}, {region, variable.offset});
}

ValueId GraphBuilder::parameter_rows(ValueId parameter, std::int64_t first, std::int64_t count) {
    const Value whole = graph_.value(parameter);
    MPT_CHECK(whole.kind == ValueKind::kStored && first >= 0 && first + count <= whole.type.shape[0],
              "rows of " + whole.name);
    std::vector<std::int64_t> dims = whole.type.shape.dims();
    const std::int64_t row = whole.type.shape.num_elements() / dims[0];
    dims[0] = count;
    const std::string name =
        whole.name + "[" + std::to_string(first) + ":" + std::to_string(first + count) + "]";
    return stored(name, {Shape(std::move(dims)), whole.type.dtype},
                  {whole.store->region, whole.store->offset + first * row});
}

std::vector<ValueId> GraphBuilder::node(const OpType& op, Attributes attributes, std::vector<ValueId> inputs,
                                        const std::string& name) {
    Node node;
    node.op = &op;
    node.attributes = std::move(attributes);
    node.inputs = std::move(inputs);
    node.phase = phase_;
    node.block = block_;
    node.name = scoped(name);
    const auto taken = [&](const std::string& candidate) {
        return std::ranges::any_of(graph_.nodes, [&](const Node& n) { return n.name == candidate; });
    };
    const std::string base = node.name;
    for (int suffix = 2; taken(node.name); ++suffix) node.name = base + "_" + std::to_string(suffix);

    MPT_CHECK(op.infer != nullptr, std::string(op.name) + " has no shape rule");
    const std::vector<TensorType> types = op.infer(node.attributes, input_types(graph_, node));
    for (std::size_t o = 0; o < types.size(); ++o) {
        Value value;
        value.name = types.size() == 1 ? node.name : node.name + ":" + std::to_string(o);
        value.type = types[o];
        value.producer = static_cast<NodeId>(graph_.nodes.size());
        value.output_index = static_cast<int>(o);
        node.outputs.push_back(static_cast<ValueId>(graph_.values.size()));
        graph_.values.push_back(std::move(value));
    }
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs;
}

}  // namespace mpt

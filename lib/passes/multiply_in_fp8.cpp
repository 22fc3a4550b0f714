#include "passes/multiply_in_fp8.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "graph/op.h"
#include "graph/rewriting.h"

namespace mpt {

namespace {

// A tensor and everything that is wanted of it in fp8.
struct Operand {
    Fp8Request request;
    Phase phase = Phase::kForward;  // of the first product that reads it
    int block = kNone;
    Fp8Copies copies;
};
using Key = std::pair<ValueId, DType>;

struct Planned {
    NodeId node = kNone;
    Fp8Product product;
};

DType format_of(const Fp8Product::Factor& factor) {
    return factor.gradient ? DType::e5m2 : DType::e4m3;
}
ValueId value_of(const Node& node, const Fp8Product::Factor& factor) {
    return node.inputs[static_cast<std::size_t>(factor.input)];
}

class Quantizer {
  public:
    Quantizer(GraphBuilder& builder, const PrecisionPolicy& policy) : builder_(builder), policy_(policy) {}

    std::vector<std::string> run() {
        std::vector<std::string> kept;
        for (NodeId n = 0; n < static_cast<NodeId>(graph().nodes.size()); ++n) plan(n, kept);
        make_copies();
        for (const Planned& planned : planned_) replace(planned);
        graph().reorder();
        return kept;
    }

  private:
    Graph& graph() { return builder_.graph(); }

    // Of the blocks, stored as the mode says.
    bool is_candidate(const Node& node) {
        if (node.op->in_fp8 == nullptr || node.block == kNone) return false;
        if (graph().type(node.inputs[0]).dtype != policy_.narrow) return false;
        return std::ranges::none_of(policy_.overrides, [&](const PrecisionPolicy::Override& override) {
            return matches(override.match, node.name);
        });
    }

    void plan(NodeId id, std::vector<std::string>& kept) {
        const Node& node = graph().node(id);
        if (!is_candidate(node)) return;
        Fp8Product product = node.op->in_fp8(node.attributes, input_types(graph(), node));
        if (!product.refusal.empty()) {
            kept.push_back(node.name + " stays " + std::string(name_of(policy_.narrow)) + ": " +
                           product.refusal);
            return;
        }
        for (const Fp8Product::Factor& factor : {product.a, product.b}) want(node, factor);
        planned_.push_back({id, std::move(product)});
    }

    void want(const Node& node, const Fp8Product::Factor& factor) {
        const Key key = {value_of(node, factor), format_of(factor)};
        const auto [place, is_new] = operands_.try_emplace(key);
        Operand& operand = place->second;
        if (is_new) {
            order_.push_back(key);
            operand.request.format = key.second;
            operand.request.margin = policy_.fp8->margin;
            operand.phase = node.phase;
            operand.block = node.block;
        }
        (factor.transposed ? operand.request.columns : operand.request.rows) = true;
    }

    void make_copies() {
        MPT_CHECK(builder_.variables() != nullptr, "fp8 needs a place for the states of its scales");
        const std::int64_t elements = op_table().roles.scaling_elements(policy_.fp8->history);
        for (const Key& key : order_) {
            Operand& operand = operands_.at(key);
            const std::string name = graph().value(key.first).name + "." + std::string(name_of(key.second));
            const StoreRef place{Region::kScaling, builder_.variables()->scaling_offset(name, elements)};
            const ValueId state = builder_.stored(name + ".scaling", {{elements}, DType::f32}, place);
            builder_.set_phase(operand.phase);
            builder_.set_block(operand.block);
            operand.copies = op_table().roles.quantize(builder_, key.first, state, operand.request, name);
        }
        builder_.set_block(kNone);
    }

    void replace(const Planned& planned) {
        const Node node = graph().node(planned.node);
        const Fp8Product& product = planned.product;
        const auto copies_of = [&](const Fp8Product::Factor& factor) -> const Fp8Copies& {
            return operands_.at({value_of(node, factor), format_of(factor)}).copies;
        };
        const auto copy_of = [&](const Fp8Product::Factor& factor) {
            return factor.transposed ? copies_of(factor).columns : copies_of(factor).rows;
        };
        std::vector<ValueId> inputs = {copy_of(product.a), copy_of(product.b),
                                       copies_of(product.a).inverse_scale,
                                       copies_of(product.b).inverse_scale};
        if (product.bias != kNone && product.bias < static_cast<int>(node.inputs.size()))
            inputs.push_back(node.inputs[static_cast<std::size_t>(product.bias)]);
        const DType result = graph().type(node.outputs[0]).dtype;
        replace_node(graph(), planned.node, *op_table().roles.fp8_product,
                     op_table().roles.fp8_product_attributes(result), inputs, node.outputs);
    }

    GraphBuilder& builder_;
    const PrecisionPolicy& policy_;
    std::map<Key, Operand> operands_;
    std::vector<Key> order_;  // of first use
    std::vector<Planned> planned_;
};

}  // namespace

std::vector<std::string> multiply_in_fp8(GraphBuilder& builder, const PrecisionPolicy& policy) {
    return Quantizer(builder, policy).run();
}

}  // namespace mpt

// The op interface: everything the passes and the plan may ask a node's kind. Passes ask the op, never name
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace mpt {

class GraphBuilder;
struct KernelTable;

// precision.md: what mixed precision does with an op's data inputs and outputs.
enum class PrecisionClass : std::uint8_t { kUnset, kNarrow, kFollow, kWide, kFixed };
const char* name_of(PrecisionClass precision);

struct Cost {
    double flops = 0;  // multiply and add count as two
    double bytes = 0;  // read and written once each
};

// output `output` lives in the memory of input `input`.
struct Alias {
    int output = 0;
    int input = 0;
};

// Handed to an op's gradient rule. `grad(i)` is the gradient of output i (kNone when nothing depends on it).
class GradientContext {
  public:
    GradientContext(GraphBuilder& b, const Node& n, std::vector<ValueId> output_gradients)
        : builder(b), node(n), output_gradients_(std::move(output_gradients)) {}
    ValueId grad(int output = 0) const { return output_gradients_[static_cast<std::size_t>(output)]; }
    ValueId in(int index) const { return node.inputs[static_cast<std::size_t>(index)]; }
    ValueId out(int index = 0) const { return node.outputs[static_cast<std::size_t>(index)]; }
    // Declares the gradient of input `index`; contributions of several users are added by the pass.
    void set(int index, ValueId gradient) { results.emplace_back(index, gradient); }
    bool wants(int index) const { return wanted.empty() || wanted[static_cast<std::size_t>(index)]; }

    GraphBuilder& builder;
    const Node& node;
    std::vector<bool> wanted;  // per input: does anything need its gradient
    std::vector<std::pair<int, ValueId>> results;

  private:
    std::vector<ValueId> output_gradients_;
};

// A graph rewrite anchored at one node; returns whether it changed the graph. It may mark nodes dead
// (op = nullptr) and append nodes, but moves none: ids stay; the pass reorders and verifies afterwards.
// `kernels` are the backend's: a rewrite whose result only a fast kernel makes worthwhile asks them first.
struct Rewrite {
    std::string_view name;
    int rank = 0;  // lower ranks run to a fixed point before higher ones start
    bool (*apply)(Graph& graph, NodeId anchor, const KernelTable& kernels) = nullptr;
};

// How a matrix product is written for fp8: d = a b^T + bias, each factor with the sum along its rows.
struct Fp8Product {
    struct Factor {
        int input = 0;            // of the node
        bool transposed = false;  // as the node has it, against what fp8 wants
        bool gradient = false;    // kept in e5m2 instead of e4m3
    };
    Factor a, b;
    int bias = kNone;     // input of the node
    std::string refusal;  // why its sizes are not for fp8; empty: they are
};

struct OpType {
    std::string_view name;
    PrecisionClass precision = PrecisionClass::kUnset;

    // Types of the outputs; throws InternalError or Error on shapes that do not fit. For a kNone input the
    // span holds a TensorType of rank 0 and must not be looked at. Floating outputs that are data take the
    // type of the data input; statistics and weight gradients are wide_of(data type).
    std::vector<TensorType> (*infer)(const Attributes& attributes,
                                     std::span<const TensorType> inputs) = nullptr;

    // Which inputs hold data that the precision class speaks of (default: all floating inputs). Parameters of
    // norms, statistics, scalars and index tensors are not data and keep their type.
    bool (*is_data_input)(const Attributes& attributes, int index) = nullptr;

    // Gradient rule; runs in the scope of the node, so that "backward_data" becomes
    // layer1.0.conv1.backward_data. Null when the op has no gradient (indices, updates, backward ops).
    void (*differentiate)(GradientContext& context) = nullptr;

    // Cost from types alone; default: bytes of all inputs and outputs, one flop an output element.
    Cost (*cost)(const Attributes& attributes, std::span<const TensorType> inputs,
                 std::span<const TensorType> outputs) = nullptr;

    // Outputs that may share an input's memory when that input is not needed afterwards and kernels of every
    // backend allow it (element-wise ops).
    std::vector<Alias> may_alias = {};
    // Outputs that ARE an input's memory: updates of stored values. The old value must not be read
    // afterwards.
    std::vector<Alias> must_alias = {};

    // For a fused op: builds the plain nodes that define it and returns the values of its outputs, in order.
    std::vector<ValueId> (*decompose)(GraphBuilder& builder, const Node& node) = nullptr;

    // For a matrix product that fp8 can take.
    Fp8Product (*in_fp8)(const Attributes& attributes, std::span<const TensorType> inputs) = nullptr;

    // Output 0 is input 0's memory in another shape; both may be read afterwards. The plan never copies.
    bool is_view = false;
};

// The statistics type that belongs to a data type: f64 in oracle tests, f32 otherwise.
constexpr DType wide_of(DType data) {
    return data == DType::f64 ? DType::f64 : DType::f32;
}

bool is_data_input(const Graph& graph, const Node& node, int index);
std::vector<TensorType> input_types(const Graph& graph, const Node& node);
std::vector<TensorType> output_types(const Graph& graph, const Node& node);
Cost cost_of(const Graph& graph, const Node& node);

// What of a tensor is wanted in fp8.
struct Fp8Request {
    DType format = DType::e4m3;
    bool rows = false, columns = false;  // as it lies, and transposed
    int margin = 0;                      // powers of two kept free above the greatest value
};
struct Fp8Copies {
    ValueId rows = kNone, columns = kNone;
    ValueId inverse_scale = kNone;  // f32 []
};

// Every op and rewrite of lib/ops, filled by the generated table (build tree: op_table.cpp). An op's folder
// lib/ops/<folder>/ defines `void register_<folder>(OpTable&)`.
struct OpTable {
    std::map<std::string, const OpType*, std::less<>> ops;
    std::vector<Rewrite> rewrites;  // by rank, then in order of folders
    // What the passes themselves insert; the op's folder that serves a role fills it in.
    struct Roles {
        ValueId (*sum)(GraphBuilder&, ValueId a, ValueId b, const std::string& name) = nullptr;
        ValueId (*cast)(GraphBuilder&, ValueId x, DType to, const std::string& name) = nullptr;
        const OpType* cast_op = nullptr;
        ValueId (*accumulate)(GraphBuilder&, ValueId buffer, ValueId gradient,
                              const std::string& name) = nullptr;
        // Products in fp8: quantised copies of `x` by and with the state of its scale, and what multiplies
        // them.
        Fp8Copies (*quantize)(GraphBuilder&, ValueId x, ValueId state, const Fp8Request& request,
                              const std::string& name) = nullptr;
        std::int64_t (*scaling_elements)(std::int64_t history) = nullptr;
        const OpType* fp8_product = nullptr;  // (a, b, their inverse scales, bias?) -> d
        Attributes (*fp8_product_attributes)(DType result) = nullptr;
    } roles;
    void add(const OpType& op) { ops.emplace(std::string(op.name), &op); }
    void add(const Rewrite& rewrite) { rewrites.push_back(rewrite); }
};
const OpTable& op_table();

}  // namespace mpt

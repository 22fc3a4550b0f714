// Values and nodes: what is computed, in single-assignment form, with no memory and no device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "graph/attributes.h"
#include "graph/variables.h"

namespace mpt {

struct OpType;

using ValueId = int;
using NodeId = int;
inline constexpr int kNone = -1;  // an optional input that is not given; no producer

struct TensorType {
    Shape shape;
    DType dtype = DType::f32;
    bool operator==(const TensorType&) const = default;
    std::int64_t bytes() const { return shape.num_elements() * static_cast<std::int64_t>(size_of(dtype)); }
};

enum class ValueKind : std::uint8_t {
    kInput,         // filled by the host before each run (images, labels, scalars)
    kStored,        // lives in a region of the store across runs
    kIntermediate,  // produced by a node; may alias a stored value when its op updates in place
};

// A place in the store: `offset` elements into the region.
struct StoreRef {
    Region region = Region::kMaster;
    std::int64_t offset = 0;
    bool operator==(const StoreRef&) const = default;
};

struct Value {
    std::string name;
    TensorType type;
    ValueKind kind = ValueKind::kIntermediate;
    NodeId producer = kNone;
    int output_index = 0;
    std::optional<StoreRef> store = {};  // kStored only
};

enum class Phase : std::uint8_t { kForward, kBackward, kUpdate };
const char* name_of(Phase phase);

struct Node {
    const OpType* op = nullptr;
    Attributes attributes = {};
    std::vector<ValueId> inputs = {};  // kNone for an optional input that is not given
    std::vector<ValueId> outputs = {};
    std::string name = {};  // unique, dotted by layer: layer1.0.conv1, layer1.0.conv1.backward_data
    Phase phase = Phase::kForward;
    int block = kNone;  // residual block or layer the node belongs to, for recomputing
};

struct Graph {
    std::string name;
    std::vector<Value> values;
    std::vector<Node> nodes;  // in execution order: every input is produced earlier
    // Named values the host reads after a run (or another pass needs), kept alive to the end.
    struct Output {
        std::string name;
        ValueId value = kNone;
    };
    std::vector<Output> outputs;

    Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
    const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
    Node& node(NodeId id) { return nodes[static_cast<std::size_t>(id)]; }
    const Node& node(NodeId id) const { return nodes[static_cast<std::size_t>(id)]; }
    const TensorType& type(ValueId id) const { return value(id).type; }

    ValueId output(const std::string& output_name) const;  // checked
    ValueId input(const std::string& input_name) const;    // checked
    // Nodes that read `id`, in order, each once.
    std::vector<NodeId> users(ValueId id) const;
    bool is_output(ValueId id) const;
    void replace_uses(ValueId from, ValueId to);  // in nodes and outputs
    // Puts nodes into an execution order again (stable: keeps the present order where it can), drops nodes
    // marked by op == nullptr, and refreshes producers.
    void reorder();
};

// One line a node, one a value that has no producer: `layer1.0.conv1: y:[..]f16 = conv2d(x, w) stride=2`.
std::string print(const Graph& graph);

}  // namespace mpt

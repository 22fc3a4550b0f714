// The few steps that graph rewrites (op.h) are made of. Node and value ids stay valid, references into the
// graph do not: take copies of nodes before appending.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel.h"
#include "graph/op.h"

namespace mpt {

// The live node that produces `id`, or kNone.
NodeId producer_of(const Graph& graph, ValueId id);
// The same if it is a node of `op`, otherwise kNone.
NodeId producer_of(const Graph& graph, ValueId id, const OpType& op);

// Whether node `id` is alive and of `op`.
bool is_op(const Graph& graph, NodeId id, const OpType& op);

// Whether `user` alone reads `id`, and the host does not.
bool only_user_is(const Graph& graph, ValueId id, NodeId user);
// Users of `id` of one op, in order.
std::vector<NodeId> users_of_op(const Graph& graph, ValueId id, const OpType& op);

// Whether `value` is computed from an output of node `from`, directly or not.
bool depends_on(const Graph& graph, ValueId value, NodeId from);

// Appends a node that shares phase and block with `like`; its name is like.name + suffix, made unique.
// `outputs` as in replace_node; by default all are new.
std::vector<ValueId> append_node(Graph& graph, const Node& like, const OpType& op, Attributes attributes,
                                 std::vector<ValueId> inputs, const std::string& suffix,
                                 std::vector<ValueId> outputs = {});

// Node `at` becomes `op` under its old name and place. `outputs` are existing values that it now produces; a
// kNone there is a new value, an empty list all new. Returns the outputs.
std::vector<ValueId> replace_node(Graph& graph, NodeId at, const OpType& op, Attributes attributes,
                                  std::vector<ValueId> inputs, std::vector<ValueId> outputs);

// Marks the node dead.
void remove_node(Graph& graph, NodeId id);
// Marks it dead if nothing reads its outputs.
void remove_if_unused(Graph& graph, NodeId id);

// The kernel that would run such a node, or null.
const Kernel* kernel_for(const KernelTable& kernels, const Graph& graph, const OpType& op,
                         const Attributes& attributes, const std::vector<ValueId>& inputs);
// Whether a kernel that is more than the plain reference runs such a node.
bool has_fast_kernel(const KernelTable& kernels, const Graph& graph, const OpType& op,
                     const Attributes& attributes, const std::vector<ValueId>& inputs);

}  // namespace mpt

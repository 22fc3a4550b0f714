#include "graph/kernel.h"

#include "graph/op.h"

namespace mpt {

Signature signature_of(const Graph& graph, const Node& node, int num_threads) {
    Signature signature;
    signature.op = node.op;
    signature.attributes = node.attributes;
    signature.inputs = input_types(graph, node);
    for (const ValueId id : node.inputs) signature.present.push_back(id != kNone);
    signature.outputs = output_types(graph, node);
    signature.num_threads = num_threads;
    return signature;
}

const Kernel* choose_kernel(const KernelTable& table, const Signature& signature,
                            std::vector<std::string>* refusals) {
    const auto found = table.by_op.find(signature.op->name);
    if (found == table.by_op.end()) return nullptr;
    for (const Kernel& kernel : found->second) {
        const std::string refusal = kernel.refusal == nullptr ? std::string() : kernel.refusal(signature);
        if (refusal.empty()) return &kernel;
        if (refusals != nullptr) refusals->push_back(std::string(kernel.name) + ": " + refusal);
    }
    return nullptr;
}

}  // namespace mpt

// Runs a small graph node by node, each value in memory of its own: for tests of gradient rules, rewrites and
// layers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/kernel.h"
#include "graph/op.h"
#include "support/guarded_buffer.h"

namespace mpt::test {

class GraphRun {
  public:
    explicit GraphRun(const Graph& graph, const KernelTable& kernels = reference_kernels(),
                      int num_threads = 1)
        : graph_(graph), kernels_(kernels), num_threads_(num_threads) {}

    void set(ValueId id, const std::vector<double>& values) {
        buffer(id).write(graph_.type(id).dtype, values);
    }
    std::vector<double> get(ValueId id) { return buffer(id).read(graph_.type(id)); }

    void run() { run_nodes(0, graph_.nodes.size()); }
    void run_nodes(std::size_t first, std::size_t last) {
        for (std::size_t n = first; n < last; ++n) run_node(n);
    }

  private:
    GuardedBuffer& buffer(ValueId id) {
        auto& found = buffers_[id];
        if (!found)
            found = std::make_shared<GuardedBuffer>(static_cast<std::size_t>(graph_.type(id).bytes()));
        return *found;
    }

    void run_node(std::size_t index) {
        const Node& node = graph_.nodes[index];
        const PreparedKernel& kernel = prepared(index);
        std::vector<void*> in, out;
        for (const ValueId id : node.inputs) in.push_back(id == kNone ? nullptr : buffer(id).data());
        for (const Alias alias : node.op->must_alias) {
            const ValueId input = node.inputs[static_cast<std::size_t>(alias.input)];
            if (input == kNone) continue;
            buffer(input);
            buffers_[node.outputs[static_cast<std::size_t>(alias.output)]] = buffers_[input];
        }
        for (const ValueId id : node.outputs) out.push_back(buffer(id).data());
        GuardedBuffer workspace(kernel.workspace_bytes);
        kernel.run({in, out, workspace.data()});
        MPT_CHECK(workspace.intact(), node.name + " wrote past its workspace");
        for (const ValueId id : node.outputs)
            MPT_CHECK(buffer(id).intact(), node.name + " wrote past " + graph_.value(id).name);
    }

    const PreparedKernel& prepared(std::size_t index) {
        auto& found = prepared_[index];
        if (!found.run) {
            const Signature signature = signature_of(graph_, graph_.nodes[index], num_threads_);
            const Kernel* kernel = choose_kernel(kernels_, signature, nullptr);
            MPT_CHECK(kernel != nullptr, graph_.nodes[index].name + " has no kernel");
            found = kernel->prepare(signature);
        }
        return found;
    }

    const Graph& graph_;
    const KernelTable& kernels_;
    int num_threads_;
    std::map<ValueId, std::shared_ptr<GuardedBuffer>> buffers_;
    std::map<std::size_t, PreparedKernel> prepared_;
};

}  // namespace mpt::test

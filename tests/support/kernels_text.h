// Which kernels for GPUs run a graph, and how often.
#pragma once

#include <map>
#include <sstream>
#include <string>

#include "core/error.h"
#include "graph/gpu_kernels.h"
#include "graph/op.h"

namespace mpt::test {

// Numbers by name, "a x2, b", in the order of the names.
class Tally {
  public:
    void count(const std::string& name) { ++times_[name]; }
    std::string text() const {
        std::string text;
        for (const auto& [name, times] : times_)
            text += (text.empty() ? "" : ", ") + name + (times > 1 ? " x" + std::to_string(times) : "");
        return text;
    }

    std::string lines(const std::string& before) const {
        std::string text;
        for (const auto& [name, times] : times_) text += before + std::to_string(times) + " " + name + "\n";
        return text;
    }

  private:
    std::map<std::string, int> times_;
};

// A node's op and what is fused into it, without sizes.
inline std::string form_of(const Node& node) {
    std::istringstream words(node.attributes.text());
    std::string form(node.op->name), word;
    while (words >> word)
        if (word.find('=') == std::string::npos || word.starts_with("mask") || word.starts_with("references"))
            form += " " + word;
    return form;
}

// For the device of the scope, whose plans nothing runs.
inline std::string kernels_text(const Graph& graph) {
    Tally cudnn, own;
    int products = 0;
    for (const Node& node : graph.nodes) {
        const Signature signature = signature_of(graph, node, 1);
        const Kernel* kernel = choose_kernel(cuda_kernels(), signature, nullptr);
        if (kernel == nullptr) throw InternalError("no kernel runs " + node.name);
        if (kernel->name == "cublaslt")
            ++products;
        else if (kernel->name == "cudnn")
            cudnn.count(form_of(node) + " by " + kernel->prepare(signature).description);
        else
            own.count(std::string(node.op->name) + (kernel->name == "tiles" ? " by tiles" : ""));
    }
    return cudnn.lines("  runs ") + "  runs " + std::to_string(products) +
           " products by cuBLASLt\n  runs on our own kernels: " + own.text() + "\n";
}

}  // namespace mpt::test

// Kernels: implementations of ops on a backend. A descriptor decides, a prepared kernel only runs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace mpt {

// What a kernel is asked about: the node's attributes and types. A kNone input has `present` false.
struct Signature {
    const OpType* op = nullptr;
    Attributes attributes;
    std::vector<TensorType> inputs;
    std::vector<bool> present;  // per input
    std::vector<TensorType> outputs;
    int num_threads = 1;
    bool has(int index) const {
        return static_cast<std::size_t>(index) < present.size() && present[static_cast<std::size_t>(index)];
    }
    const TensorType& in(int index) const { return inputs[static_cast<std::size_t>(index)]; }
    const TensorType& out(int index) const { return outputs[static_cast<std::size_t>(index)]; }
};
Signature signature_of(const Graph& graph, const Node& node, int num_threads);

struct KernelArgs {
    std::span<void* const> inputs;  // nullptr for a kNone input
    std::span<void* const> outputs;
    void* workspace = nullptr;  // 64-byte aligned
    template <typename T>
    const T* in(int index) const {
        return static_cast<const T*>(inputs[static_cast<std::size_t>(index)]);
    }
    template <typename T>
    T* out(int index) const {
        return static_cast<T*>(outputs[static_cast<std::size_t>(index)]);
    }
};

struct PreparedKernel {
    std::function<void(const KernelArgs&)> run;
    std::size_t workspace_bytes = 0;
    std::string description = {};  // e.g. "xsmm winograd avx512", for the precision audit
};

struct Kernel {
    std::string_view op;    // the op's name
    std::string_view name;  // "ref", "simd", "onednn", "xsmm"
    // Empty when it runs this signature; otherwise a sentence why not.
    std::string (*refusal)(const Signature&) = nullptr;
    PreparedKernel (*prepare)(const Signature&) = nullptr;
};

// Kernels of one backend, fastest first within an op. An op's folder defines
// `void register_<folder>_cpu(KernelTable&)` in <folder>_cpu.cpp and `void
// register_<folder>_ref(KernelTable&)` in <folder>_ref.cpp; the generated table calls the former first.
struct KernelTable {
    std::map<std::string, std::vector<Kernel>, std::less<>> by_op;
    void add(const Kernel& kernel) { by_op[std::string(kernel.op)].push_back(kernel); }
};
const KernelTable& cpu_kernels();        // fast kernels, then references
const KernelTable& reference_kernels();  // references only

// The first kernel that accepts; `refusals` gets "name: sentence" of those tried before. Null when none does.
const Kernel* choose_kernel(const KernelTable& table, const Signature& signature,
                            std::vector<std::string>* refusals);

}  // namespace mpt

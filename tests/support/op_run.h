// Runs one op's kernel on plain vectors.
#pragma once

#include <cstring>
#include <vector>

#include "core/error.h"
#include "graph/kernel.h"
#include "graph/op.h"

namespace mpt::test {

// One tensor of a call; no bytes: an absent optional input.
struct Buffer {
    TensorType type;
    std::vector<std::byte> bytes;

    Buffer() = default;
    Buffer(DType dtype, std::int64_t elements) : type{Shape{elements}, dtype} {
        bytes.resize(static_cast<std::size_t>(type.bytes()));
    }
    template <typename T>
    Buffer(DType dtype, const std::vector<T>& values)
        : Buffer(dtype, static_cast<std::int64_t>(values.size())) {
        std::memcpy(bytes.data(), values.data(), bytes.size());
    }
    template <typename T>
    T* as() {
        return reinterpret_cast<T*>(bytes.data());
    }
};

enum class Kernels { kReference, kFast };

// Runs the op with each output in the memory of the input that op.must_alias says.
inline void run_in_place(const OpType& op, const Attributes& attributes, std::vector<Buffer*> inputs,
                         Kernels kernels, int num_threads) {
    Signature s;
    s.op = &op;
    s.attributes = attributes;
    s.num_threads = num_threads;
    std::vector<void*> in;
    for (Buffer* buffer : inputs) {
        s.inputs.push_back(buffer->type);
        s.present.push_back(!buffer->bytes.empty());
        in.push_back(buffer->bytes.empty() ? nullptr : buffer->bytes.data());
    }
    s.outputs = op.infer(attributes, s.inputs);
    std::vector<void*> out(s.outputs.size(), nullptr);
    for (const Alias alias : op.must_alias)
        out[static_cast<std::size_t>(alias.output)] = in[static_cast<std::size_t>(alias.input)];
    const Kernel* kernel =
        choose_kernel(kernels == Kernels::kFast ? cpu_kernels() : reference_kernels(), s, nullptr);
    MPT_CHECK(kernel != nullptr, std::string(op.name) + " has no kernel");
    const PreparedKernel prepared = kernel->prepare(s);
    std::vector<double> workspace(prepared.workspace_bytes / sizeof(double) + 16);
    const auto address = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64;
    prepared.run({in, out, reinterpret_cast<void*>(address)});
}

}  // namespace mpt::test

// What the fast CPU kernels of the ops share: when they refuse, and loops over elements. For *_cpu.cpp files
// only.
#pragma once

#include <initializer_list>
#include <string>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/simd.h"
#include "backends/cpu/threads.h"
#include "graph/kernel.h"
#include "graph/op.h"

namespace mpt::simd {

// Elements a thread takes at a time: less does not pay for waking it, and it keeps cache lines apart.
inline constexpr std::int64_t kGrain = 8192;

inline std::string refusal(const Signature& s) {
    if (cpu::instruction_set() == cpu::InstructionSet::kBaseline) return "needs AVX2, FMA and F16C";
    for (const auto* types : {&s.inputs, &s.outputs})
        for (const TensorType& type : *types)
            if (type.dtype == DType::f64) return "stores f32, f16 or bf16, not f64";
    return {};
}

// Also: the given inputs share one type.
template <int... indices>
std::string refusal_unless_same(const Signature& s) {
    for (const int index : {indices...})
        if (s.in(index).dtype != s.in(0).dtype) return "needs one type of data";
    return refusal(s);
}

template <typename T>
T* output(const KernelArgs& a, int index) {
    return static_cast<T*>(a.outputs[static_cast<std::size_t>(index)]);
}
template <typename T>
const T* input(const KernelArgs& a, int index) {
    return static_cast<const T*>(a.inputs[static_cast<std::size_t>(index)]);
}

// body(i, lanes) over all elements on all threads.
template <typename Body>
void for_elements(std::int64_t count, int num_threads, const Body& body) {
    cpu::parallel_for(count, kGrain, num_threads,
                      [&](cpu::Range range, int) { for_lanes(range.begin, range.end, body); });
}

// A kernel that is a function of its signature and arguments and needs no workspace.
using Body = void (*)(const Signature&, const KernelArgs&);
template <Body body>
Kernel kernel(const OpType& op, std::string (*refuses)(const Signature&) = refusal) {
    return {
        op.name, "simd", refuses, [](const Signature& signature) {
            return PreparedKernel{[signature](const KernelArgs& args) { body(signature, args); }, 0, "avx2"};
        }};
}

}  // namespace mpt::simd

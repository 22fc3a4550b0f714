// The rules of mixed precision as two passes. Only `cast` changes a type; one cast per (value, type).
//   assign_precision    y = conv2d(x, w)   ->   xh = cast(x); wh = cast(w); y:f16 = conv2d(xh, wh)
//   legalize_precision  a node that no kernel of the backend takes in its narrow type is widened, and said so
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "graph/graph.h"
#include "graph/kernel.h"

namespace mpt {

struct PrecisionPolicy {
    DType narrow = DType::f32;  // f32: nothing is narrowed
    struct Override {
        std::string match;  // of node names, with * and ?
        DType dtype = DType::f32;
    };
    std::vector<Override> overrides;
    // Products of a block's layers in fp8 (multiply_in_fp8.h): how many greatest magnitudes a scale looks
    // back on, and the powers of two that it leaves free.
    struct Fp8Scaling {
        std::int64_t history = 16;
        int margin = 0;
    };
    std::optional<Fp8Scaling> fp8 = {};
};

void assign_precision(Graph& graph, const PrecisionPolicy& policy);
// Of overrides that no node of the graph is named by: their patterns.
std::vector<std::string> unmatched_overrides(const Graph& graph, const PrecisionPolicy& policy);

// Returns one line per widened node: its name and why.
std::vector<std::string> legalize_precision(Graph& graph, const KernelTable& kernels, int num_threads);

// A parameter's cast becomes its stored narrow copy, which the optimizer writes.
//   before: wh = cast(w @master)     after: wh @narrow
// With `pure` (fp16_pure) the master itself is narrow: wh @master, and f32 readers get a cast of it.
void cast_into_update(Graph& graph, DType narrow, bool pure);

// Shell-like match of a whole name: * any run of characters, ? any one.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace mpt

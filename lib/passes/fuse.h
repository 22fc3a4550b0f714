// Applies the rewrites that the ops bring, rank by rank, until nothing changes.
//   before: y = batch_norm(conv2d(x, w)); z = relu(y)     after: c, stats = conv2d_fused(x, w); ...
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel.h"

namespace mpt {

// What one rewrite did to the bytes that nodes read and write. Some move more at first, which those after
// them win back.
struct FusionSaving {
    std::string rewrite;
    int times = 0;
    double bytes = 0;
};
struct FusionReport {
    double bytes_before = 0, bytes_after = 0;  // of all nodes, every input and output once
    std::vector<FusionSaving> savings;         // in the order in which rewrites first applied
};

// `kernels` are the backend's: a fused convolution is made only where a fast one runs it.
FusionReport fuse(Graph& graph, const KernelTable& kernels);

}  // namespace mpt

// The matrix products inside a node: convolutions as implicit products, linear layers, attention. What Tensor
// Cores see of a graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "graph/graph.h"

namespace mpt {

// c[m,n] += a[m,k] * b[k,n], `count` times over.
struct Product {
    enum class Kind : std::uint8_t { kForward, kBackwardData, kBackwardWeight } kind = Kind::kForward;
    enum class Source : std::uint8_t { kConvolution, kLinear, kAttention } source = Source::kLinear;
    std::int64_t m = 0, n = 0, k = 0, count = 1;
    // What has to be aligned in memory: channels in and out, rows and columns, the head's size.
    std::int64_t in_features = 0, out_features = 0;
    std::int64_t batch = 0;      // rows that come from the micro-batch (0: none is a feature of the layer)
    DType operand = DType::f32;  // storage of a and b
    bool fp8 = false;            // multiplied in fp8, where the GPU has it
    std::string node;            // its name

    double flops() const {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
               static_cast<double>(count);
    }
};
std::string_view name_of(Product::Kind kind);

// Fused nodes are looked at as what they decompose into. Empty for a node without products.
std::vector<Product> products_of(const Graph& graph, const Node& node);

}  // namespace mpt

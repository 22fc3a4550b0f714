// How long a graph takes on a GPU: each node by its slowest of arithmetic, memory traffic and launch.
#pragma once

#include <string>
#include <vector>

#include "forecast/gpu.h"
#include "forecast/tensor_cores.h"
#include "graph/graph.h"

namespace mpt {

// How the nodes become kernels.
enum class Style : std::uint8_t { kPlain, kFused };
// Whose kernels a forecast speaks of: tuned ones for each op, fused ones as this trainer's, or a framework
// that launches each op from an interpreter.
enum class Software : std::uint8_t { kFused, kOpByOp, kEager };
std::string_view name_of(Software software);
constexpr Style style_of(Software software) {
    return software == Software::kFused ? Style::kFused : Style::kPlain;
}

// Shares of the datasheet's peaks that kernels sustain, fitted to published throughput (published.h) by
// least absolute error of the logarithm.
struct SustainedRates {
    double convolution = 0.485;       // of the peak of f16, bf16
    double convolution_tf32 = 0.335;  // frameworks keep NCHW in f32 and convert around each convolution
    double convolution_f32 = 1.145;   // above 1: Winograd saves products that are counted here
    double product = 0.72;            // linear layers
    double product_f32 = 1.0;         // of the CUDA cores' peak
    double attention = 0.45;
    double f32 = 0.85;  // other arithmetic on CUDA cores
    double bandwidth = 0.737;
    double launch_us = 3;  // a node
};
SustainedRates sustained_rates(Software software);
SustainedRates ideal_rates();  // datasheet peaks, nothing lost: the roofline itself

enum class Bound : std::uint8_t { kCompute, kMemory, kLaunch };
std::string_view name_of(Bound bound);

struct NodeForecast {
    NodeId node = kNone;
    double flops = 0, product_flops = 0, bytes = 0;
    ComputeFormat format = ComputeFormat::kF32;
    double compute_ms = 0, memory_ms = 0, ms = 0;
    Bound bound = Bound::kMemory;
};

struct GraphForecast {
    std::vector<NodeForecast> nodes;  // one a node of the graph
    double flops = 0;                 // all arithmetic
    double product_flops = 0;         // of matrix products and convolutions alone
    double bytes = 0;
    double ms = 0, backward_ms = 0;
};

// What a graph's nodes ask for, independent of the device; made once, used for every GPU.
struct NodeWork {
    double flops = 0, product_flops = 0, bytes = 0;
    std::vector<Product> products;
};
std::vector<NodeWork> work_of(const Graph& graph);

GraphForecast forecast(const Graph& graph, const std::vector<NodeWork>& work, const Gpu& gpu, Tf32 tf32,
                       const SustainedRates& rates);

}  // namespace mpt

#include "forecast/roofline.h"

#include <algorithm>

#include "graph/op.h"

namespace mpt {

namespace {

double sustained(const SustainedRates& rates, const Product& product, ComputeFormat format) {
    const bool f32 = format == ComputeFormat::kF32;
    switch (product.source) {
        case Product::Source::kConvolution:
            if (f32) return rates.convolution_f32;
            return format == ComputeFormat::kTf32 ? rates.convolution_tf32 : rates.convolution;
        case Product::Source::kLinear:
            return f32 ? rates.product_f32 : rates.product;
        case Product::Source::kAttention:
            return f32 ? rates.f32 : rates.attention;
    }
    return rates.product;
}

NodeForecast node_forecast(const NodeWork& work, const Gpu& gpu, Tf32 tf32, const SustainedRates& rates) {
    NodeForecast out;
    out.flops = work.flops;
    out.product_flops = work.product_flops;
    out.bytes = work.bytes;
    double seconds = (work.flops - work.product_flops) / (gpu.peak(ComputeFormat::kF32) * rates.f32);
    for (const Product& product : work.products) {
        out.format = compute_format(product, tf32, gpu);
        const double efficiency = grade(product, out.format, gpu).efficiency;
        seconds += product.flops() / (gpu.peak(out.format) * sustained(rates, product, out.format) *
                                      std::max(efficiency, 0.02));
    }
    const double launch_ms = rates.launch_us * 1e-3;
    out.compute_ms = 1e3 * seconds;
    out.memory_ms = 1e3 * work.bytes / (gpu.bandwidth * rates.bandwidth);
    const double busy = std::max(out.compute_ms, out.memory_ms);
    out.ms = busy + launch_ms;
    out.bound = busy < launch_ms                 ? Bound::kLaunch
                : out.compute_ms > out.memory_ms ? Bound::kCompute
                                                 : Bound::kMemory;
    return out;
}

}  // namespace

std::string_view name_of(Software software) {
    switch (software) {
        case Software::kFused:
            return "fused";
        case Software::kOpByOp:
            return "op by op";
        case Software::kEager:
            return "eager";
    }
    return "?";
}

std::string_view name_of(Bound bound) {
    switch (bound) {
        case Bound::kCompute:
            return "compute";
        case Bound::kMemory:
            return "memory";
        case Bound::kLaunch:
            return "launch";
    }
    return "?";
}

SustainedRates sustained_rates(Software software) {
    SustainedRates rates;
    if (software == Software::kFused) rates.bandwidth = 0.55;  // prologues and epilogues cost some of it
    if (software == Software::kEager) rates.launch_us = 66;
    return rates;
}

SustainedRates ideal_rates() {
    SustainedRates rates;
    rates.convolution = rates.convolution_tf32 = rates.convolution_f32 = 1;
    rates.product = rates.attention = rates.f32 = rates.bandwidth = 1;
    rates.launch_us = 0;
    return rates;
}

std::vector<NodeWork> work_of(const Graph& graph) {
    std::vector<NodeWork> all;
    all.reserve(graph.nodes.size());
    for (const Node& node : graph.nodes) {
        NodeWork work;
        const Cost cost = cost_of(graph, node);
        work.products = products_of(graph, node);
        for (const Product& product : work.products) work.product_flops += product.flops();
        work.flops = std::max(cost.flops, work.product_flops);
        work.bytes = cost.bytes;
        all.push_back(std::move(work));
    }
    return all;
}

GraphForecast forecast(const Graph& graph, const std::vector<NodeWork>& work, const Gpu& gpu, Tf32 tf32,
                       const SustainedRates& rates) {
    GraphForecast out;
    for (std::size_t n = 0; n < work.size(); ++n) {
        NodeForecast node = node_forecast(work[n], gpu, tf32, rates);
        node.node = static_cast<NodeId>(n);
        out.flops += node.flops;
        out.product_flops += node.product_flops;
        out.bytes += node.bytes;
        out.ms += node.ms;
        if (graph.nodes[n].phase == Phase::kBackward) out.backward_ms += node.ms;
        out.nodes.push_back(node);
    }
    return out;
}

}  // namespace mpt

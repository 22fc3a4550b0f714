#include "forecast/cpu.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace mpt {

namespace {

// Shares of the core's multiply-add rate, by what the kernel says of itself.
struct KernelShare {
    const char* word;
    double share;
};
// Winograd counts the products of the direct convolution, hence more than 1.
constexpr std::array<KernelShare, 4> kShares = {
    {{"winograd", 1.72}, {"direct", 0.90}, {"onednn", 0.72}, {"attention", 0.40}}};
constexpr double kOtherProducts = 0.40;
constexpr double kReference = 0.01;
constexpr double kPlainArithmetic = 0.17;  // element-wise loops, of the same rate
constexpr double kThinChannels = 8;        // a convolution of c channels reaches c / (c + 8)
constexpr double kManyThreads = 0.87;      // of the threads' sum: waiting for each other, shared clock
constexpr double kNodeUs = 4;              // starting the team

double share_of(const PlannedStep& step) {
    if (step.kernel == "ref") return kReference;
    const std::string text = step.kernel + " " + step.prepared.description;
    for (const KernelShare& known : kShares)
        if (text.find(known.word) != std::string::npos) return known.share;
    return kOtherProducts;
}

NodeForecast node_forecast(const PlannedStep& step, const NodeWork& work, const CpuMachine& machine) {
    NodeForecast out;
    out.node = step.node;
    out.flops = work.flops;
    out.product_flops = work.product_flops;
    out.bytes = work.bytes;
    const double threads = machine.num_threads > 1 ? kManyThreads * machine.num_threads : 1;
    const double rate = machine.core_flops * threads;
    double seconds = (work.flops - work.product_flops) / (rate * kPlainArithmetic);
    for (const Product& product : work.products) {
        double share = share_of(step);
        if (product.source == Product::Source::kConvolution) {
            const double thin = static_cast<double>(std::min(product.in_features, product.out_features));
            share *= thin / (thin + kThinChannels);
        }
        seconds += product.flops() / (rate * share);
    }
    out.compute_ms = 1e3 * seconds;
    out.memory_ms = 1e3 * work.bytes / machine.bandwidth;
    const double busy = std::max(out.compute_ms, out.memory_ms);
    out.ms = busy + kNodeUs * 1e-3;
    out.bound = busy < kNodeUs * 1e-3            ? Bound::kLaunch
                : out.compute_ms > out.memory_ms ? Bound::kCompute
                                                 : Bound::kMemory;
    return out;
}

std::string model_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("model name", 0) == 0)
            if (const std::size_t colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "CPU";
}

}  // namespace

CpuMachine this_machine(int num_threads) {
    CpuMachine machine;
    machine.name = model_name();
    machine.num_threads = num_threads;
    const double fma = measured_fma_flops();
    machine.core_flops = fma > 0 ? fma : 1e10;
    // A core draws about 30 GB/s, a socket of this kind a few times that.
    machine.bandwidth = std::min(30e9 * (num_threads > 1 ? kManyThreads * num_threads : 1), 200e9);
    return machine;
}

GraphForecast forecast(const Plan& plan, const std::vector<NodeWork>& work, const CpuMachine& machine) {
    GraphForecast out;
    for (const PlannedStep& step : plan.steps) {
        const std::size_t n = static_cast<std::size_t>(step.node);
        const NodeForecast node = node_forecast(step, work[n], machine);
        out.flops += node.flops;
        out.product_flops += node.product_flops;
        out.bytes += node.bytes;
        out.ms += node.ms;
        if (plan.graph.node(step.node).phase == Phase::kBackward) out.backward_ms += node.ms;
        out.nodes.push_back(node);
    }
    return out;
}

}  // namespace mpt

#include "forecast/scaling.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace mpt {

namespace {

constexpr double kSustained = 0.8;     // of a link's rate, as NCCL's large messages reach it
constexpr double kBucketBytes = 25e6;  // gradients reduced at once

double nvlink_rate(const Gpu& gpu) {
    if (gpu.major == 7) return 150e9;
    if (gpu.major == 8) return 300e9;
    return gpu.major == 9 ? 450e9 : 900e9;
}

bool has_nvlink(const Gpu& gpu) {
    return gpu.name.find("SXM") != std::string::npos || gpu.name.find("HGX") != std::string::npos;
}

std::string_view own_link(const Gpu& gpu) {
    if (has_nvlink(gpu)) return "nvlink";
    if (gpu.major < 8) return "pcie3";
    return gpu.major < 9 ? "pcie4" : "pcie5";
}

}  // namespace

Link find_link(std::string_view word, const Gpu& gpu) {
    if (word.empty()) word = own_link(gpu);
    if (word == "nvlink") return {"nvlink", nvlink_rate(gpu), 4};
    struct Known {
        std::string_view name;
        double rate, latency_us;
    };
    constexpr std::array<Known, 6> kKnown = {{{"pcie3", 12e9, 8},
                                              {"pcie4", 24e9, 8},
                                              {"pcie5", 48e9, 8},
                                              {"eth100", 12.5e9, 20},
                                              {"ib200", 25e9, 10},
                                              {"ib400", 50e9, 10}}};
    for (const Known& known : kKnown)
        if (word == known.name) return {std::string(word), known.rate, known.latency_us};
    double rate = 0;
    const auto [end, fault] = std::from_chars(word.data(), word.data() + word.size(), rate);
    if (fault != std::errc() || end != word.data() + word.size() || !(rate > 0) || !std::isfinite(rate))
        throw Error(ExitCode::kUsage,
                    "--link " + std::string(word) +
                        ": nvlink, pcie3, pcie4, pcie5, eth100, ib200, ib400 or GB/s are known");
    return {std::string(word) + " GB/s", rate * 1e9, 10};
}

Scaling scale(int num_gpus, const Link& link, double gradient_bytes, double step_ms, double backward_ms) {
    Scaling out;
    out.num_gpus = num_gpus;
    out.step_ms = step_ms;
    if (num_gpus <= 1) return out;
    const double n = num_gpus;
    const double buckets = std::max(1.0, std::ceil(gradient_bytes / kBucketBytes));
    const double transfer = 2 * (n - 1) / n * gradient_bytes / (link.bytes_per_second * kSustained);
    out.all_reduce_ms = 1e3 * transfer + buckets * 2 * (n - 1) * link.latency_us * 1e-3;
    // The last bucket is full only when the backward pass ends.
    const double hidden = backward_ms * (buckets - 1) / buckets;
    out.exposed_ms = std::max(out.all_reduce_ms - hidden, out.all_reduce_ms / buckets);
    out.step_ms = step_ms + out.exposed_ms;
    out.efficiency = step_ms / out.step_ms;
    return out;
}

}  // namespace mpt

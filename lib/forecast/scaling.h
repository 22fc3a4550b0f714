// Data parallel training on several GPUs: what the all-reduce of the gradients costs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "forecast/gpu.h"

namespace mpt {

struct Link {
    std::string name;
    double bytes_per_second = 0;  // each direction, a GPU
    double latency_us = 0;        // a step of the ring
};
// nvlink, pcie3, pcie4, pcie5, eth100, ib200, ib400, or a number of GB/s. Throws Error(kUsage). An empty word
// is the GPU's own: NVLink on SXM and HGX parts, PCIe on others.
Link find_link(std::string_view word, const Gpu& gpu);

struct Scaling {
    int num_gpus = 1;
    double all_reduce_ms = 0;  // of all gradients, were nothing else going on
    double exposed_ms = 0;     // what the backward pass does not hide
    double step_ms = 0;        // of an update
    double efficiency = 1;     // of num_gpus times one GPU
};

// Ring: 2 (n - 1) / n of the bytes through each link, in buckets that start as soon as the backward pass of
// the last micro-step has filled them.
Scaling scale(int num_gpus, const Link& link, double gradient_bytes, double step_ms, double backward_ms);

}  // namespace mpt

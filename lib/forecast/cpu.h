// How long a plan takes on this machine's CPU. Rates are shares of the fused multiply-add rate of one core,
// which is measured in a few milliseconds; they were fitted to profiles of ResNets and small GPTs on Zen 4.
#pragma once

#include <string>
#include <vector>

#include "forecast/roofline.h"
#include "plan/plan.h"

namespace mpt {

struct CpuMachine {
    std::string name;  // as the kernel calls it
    int num_threads = 1;
    double core_flops = 1e11;  // f32, one core
    double bandwidth = 30e9;   // bytes/s, all threads together
};
CpuMachine this_machine(int num_threads);

// Multiply-adds of independent AVX2 registers a second, times two; 0 on a machine without AVX2 and FMA.
double measured_fma_flops();

GraphForecast forecast(const Plan& plan, const std::vector<NodeWork>& work, const CpuMachine& machine);

}  // namespace mpt

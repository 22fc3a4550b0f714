// How long a plan takes on a CPU whose rates were measured: of its multiply-adds, of its memory, and of each
// kind of kernel.
#pragma once

#include <string>
#include <vector>

#include "forecast/roofline.h"
#include "plan/plan.h"

namespace mpt {

// What one kind of kernel took on this machine.
struct KernelRate {
    std::string kind;         // as kind_of() says it
    double features = 0;      // the fewer of its product's features in and out; 0 without products
    double seconds_each = 0;  // of one product flop, or of one byte of a kernel without products
};

struct CpuMachine {
    std::string name;  // as the kernel calls it
    int num_threads = 1;
    double core_flops = 1e11;    // f32 multiply-adds of one core, all threads at work
    double core_bf16_flops = 0;  // of pairs of bf16; 0: as f32
    double bandwidth = 30e9;     // bytes/s, all threads together
    std::vector<KernelRate> rates;
    double measured_in_ms = 0;
    double waited = 0;  // share of their time that the threads waited for a core meanwhile

    double peak(DType operand) const;  // of all threads
};

// Op, kernel and types of a planned node: what nodes of one speed have in common.
std::string kind_of(const Graph& graph, const PlannedStep& step);
double features_of(const NodeWork& work);

// Seconds at the peaks of multiply-adds and memory: the roofline.
double roofline_seconds(const NodeWork& work, const CpuMachine& machine);

// Of a kind that was measured by its rate, of another by shares of the peaks that kernels usually reach.
GraphForecast forecast(const Plan& plan, const std::vector<NodeWork>& work, const CpuMachine& machine);

// Independent multiply-adds in the widest registers there are: how many flops were done; 0 on a processor
// without the instructions.
double run_f32_products();
double run_bf16_products();

std::string cpu_name();
std::string print(const CpuMachine& machine);  // one line: what was measured

}  // namespace mpt

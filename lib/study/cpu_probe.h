// What this machine's CPU gives: multiply-adds, memory, and each kind of kernel of a plan, timed for some
// milliseconds on one or two of the plan's own nodes with as few rows as that takes.
#pragma once

#include "forecast/cpu.h"
#include "study/step_family.h"

namespace mpt {

// Rates of the peaks alone.
CpuMachine measured_machine(int num_threads);
// And of the kernels of a plan of the family's micro-step, the costly ones first; the last 2 % of the time,
// and kinds that the probing's time does not suffice for, are left to kernels like them and to the peaks.
CpuMachine measured_machine(const StepFamily& family, const Plan& plan, int num_threads);
// For a config, from scratch.
CpuMachine measured_machine(const RunConfig& config);

}  // namespace mpt

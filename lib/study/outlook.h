// Forecasts of a study: times, throughput, grades of products, scaling.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace mpt {

class Outlook {
  public:
    Outlook(const RunConfig& config, const DescribedData& data) : config_(config), data_(data) {}

    // Adds a row for a mode; the family's graph may be that of a mode of the same sizes.
    void on_gpu(PlanStudy& out, const Gpu& gpu, PrecisionMode mode, const StepFamily& family,
                Software software) const;
    // The config's own mode: slowest ops and Tensor Core advice.
    void details_on_gpu(PlanStudy& out, const Gpu& gpu, const StepFamily& family, Tf32 tf32) const;
    void scaling_on_gpu(PlanStudy& out, const StudyRequest& request, const StepFamily& family,
                        Tf32 tf32) const;
    void on_cpu(PlanStudy& out, const Plan& plan, const Graph& update, const CpuMachine& machine) const;

  private:
    void finish(ForecastRow& row, double product_flops, double peak) const;

    const RunConfig& config_;
    const DescribedData& data_;
};

// What the products of a mode are computed in, where the GPU can.
ComputeFormat format_of(PrecisionMode mode);

}  // namespace mpt

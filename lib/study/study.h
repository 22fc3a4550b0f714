// Everything `mpt-train plan` says, worked out from a config without allocating or training.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "forecast/cpu.h"
#include "forecast/published.h"
#include "forecast/scaling.h"
#include "forecast/tensor_cores.h"
#include "passes/fuse.h"
#include "plan/memory_report.h"
#include "study/description.h"
#include "study/step_family.h"

namespace mpt {

inline constexpr int kMostGpus = 1 << 20;

struct StudyRequest {
    RunConfig config;
    std::optional<Gpu> gpu;  // unset: this machine's CPU
    int num_gpus = 1;
    std::string link;                          // of scaling.h; empty: the GPU's own
    std::optional<std::int64_t> memory_bytes;  // unset: what the GPU or the machine has
};

// What one node runs in.
struct AuditRow {
    std::string node, op, phase;
    std::string storage;     // "f16, f16 -> f16"
    std::string compute;     // what products or sums are computed in
    std::string accumulate;  // what they are summed in
    std::string kernel;
    std::vector<std::string> refused;  // faster kernels, each "name: why not"
};
struct CastRow {
    std::string value, from, to, reason;
    std::int64_t bytes = 0;  // read and written
};

struct MemoryRow {
    PrecisionMode mode = PrecisionMode::kFp32;
    Recompute recompute = Recompute::kOff;
    Software software = Software::kFused;  // op by op: every value of the unfused graph is stored
    std::int64_t activations_bytes = 0, peak_bytes = 0;  // at the data's micro-batch
    std::int64_t largest_micro_batch = 0;                // 0: not one sample fits
};
struct AccumulateRow {
    std::int64_t accumulate = 1, micro_batch = 1, peak_bytes = 0;
};

// Products of equal grade and advice.
struct AdviceRow {
    ProductGrade grade;
    ComputeFormat format = ComputeFormat::kF32;
    std::vector<std::string> nodes;
    double ms = 0;  // forecast of the nodes
};

struct ForecastRow {
    PrecisionMode mode = PrecisionMode::kFp32;
    Software software = Software::kFused;
    std::string unavailable;  // why the device cannot; empty when it can
    double micro_step_ms = 0, update_ms = 0;
    double per_second = 0;     // samples, or tokens
    double epoch_seconds = 0;  // 0: size of the data not known
    double tflops = 0, mfu = 0;
    double roofline_share = 0;  // time at the datasheet's peaks over the forecast
};
struct OpRow {
    std::string node, op;
    double ms = 0, gflops = 0, megabytes = 0;
    Bound bound = Bound::kMemory;
    std::string format;
};
struct CalibrationRow {
    PublishedRate published;
    double forecast = 0;
    double error() const { return forecast / published.per_second - 1; }
};

// Convolutions of one shape, as cuDNN plans them for the GPU without the GPU.
struct CudnnRow {
    std::string convolution;
    std::int64_t count = 0;
    std::string engine;  // empty: none, our own kernel runs it
    std::int64_t workspace_bytes = 0;
    bool tensor_cores = false;
};
struct CudnnStudy {
    std::string version;  // of cuDNN; empty: why it was not asked
    std::string reason;
    std::vector<CudnnRow> rows;
    std::int64_t most_workspace_bytes() const;
};

struct PlanStudy {
    RunConfig config;
    DescribedData data;
    std::string device;   // GPU or CPU, in words
    std::string network;  // "resnet50": the model, in published rows' words; empty when not one of them
    std::int64_t num_parameters = 0;
    double forward_gmac = 0;  // multiply-adds of products, a sample
    double train_gflop = 0;   // of products, forward and backward, a sample
    std::int64_t memory_limit_bytes = 0;

    std::vector<AuditRow> audit;
    std::vector<CastRow> casts;
    MemoryReport memory;
    std::vector<MemoryRow> memory_rows;
    std::vector<AccumulateRow> accumulate_rows;
    CudnnStudy cudnn;  // of a GPU and a network with convolutions
    std::vector<AdviceRow> advice;
    BatchRule batch;
    std::vector<ForecastRow> forecasts;
    std::vector<OpRow> slowest;
    FusionReport fusion;  // bytes of a sample, of the micro-step
    std::vector<Scaling> scaling;
    std::string link;
    std::vector<CalibrationRow> calibration;    // of this network, on every GPU it is published for
    const PublishedBatches* batches = nullptr;  // of this network on this GPU, where known
    double seconds = 0;                         // that the plan took
};

PlanStudy study(const StudyRequest& request);

// The model in the words of published rows; its type where there are none of it.
std::string network_of(const ModelConfig& model);

// Forecasts beside every published row whose network this build has.
std::vector<CalibrationRow> calibrate(int num_threads);
double median_error(const std::vector<CalibrationRow>& rows);  // of absolute values

enum class Detail : std::uint8_t { kSummary, kEveryOp };
std::string print(const PlanStudy& study, Detail detail);
std::string print(const std::vector<CalibrationRow>& rows);

}  // namespace mpt

#include "study/study.h"

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <tuple>

#include "core/clock.h"
#include "core/error.h"
#include "study/audit.h"
#include "study/cpu_probe.h"
#include "study/cudnn_study.h"
#include "study/outlook.h"
#include "train/program_config.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

using Workspaces = StepFamily::Workspaces;

// The families a study looks at; others equal one of these in sizes and times.
constexpr std::array kModes = {PrecisionMode::kFp32, PrecisionMode::kTf32, PrecisionMode::kAmpFp16,
                               PrecisionMode::kAmpBf16, PrecisionMode::kFp16Pure};

PrecisionMode like(PrecisionMode mode) {
    if (mode == PrecisionMode::kTf32) return PrecisionMode::kFp32;
    return mode == PrecisionMode::kAmpBf16 ? PrecisionMode::kAmpFp16 : mode;
}

class Families {
  public:
    Families(const RunConfig& config, const DescribedData& data, int threads) {
        for (const PrecisionMode mode : kModes) {
            if (like(mode) != mode) continue;
            for (const Recompute recompute : {Recompute::kOff, Recompute::kBlocks})
                start(config, data, threads, {mode, recompute, Style::kFused});
            if (mode != PrecisionMode::kFp16Pure)
                start(config, data, threads, {mode, Recompute::kOff, Style::kPlain});
        }
        if (config.model.is_text())
            for (const Recompute recompute : {Recompute::kOff, Recompute::kBlocks})
                start(config, data, threads, {PrecisionMode::kFp8, recompute, Style::kFused});
        for (auto& [key, future] : building_) built_[key] = future.get();
    }
    const StepFamily& of(PrecisionMode mode, Recompute recompute, Style style) const {
        // Without fusion fp16_pure takes as long as amp_fp16.
        if (style == Style::kPlain && mode == PrecisionMode::kFp16Pure) mode = PrecisionMode::kAmpFp16;
        return *built_.at({like(mode), recompute, style});
    }

  private:
    using Key = std::tuple<PrecisionMode, Recompute, Style>;
    void start(const RunConfig& config, const DescribedData& data, int threads, StepVariant variant) {
        building_[{variant.mode, variant.recompute, variant.style}] =
            std::async(std::launch::async | std::launch::deferred, [&config, &data, threads, variant] {
                return std::make_unique<StepFamily>(config, data.data, threads, variant);
            });
    }
    std::map<Key, std::future<std::unique_ptr<StepFamily>>> building_;
    std::map<Key, std::unique_ptr<StepFamily>> built_;
};

void fill_memory(PlanStudy& out, const StudyRequest& request, const Families& families, int threads) {
    const Workspaces workspaces = request.gpu ? Workspaces::kIgnored : Workspaces::kOfKernels;
    const std::int64_t host = out.memory.host_bytes;
    for (const PrecisionMode mode : kModes)
        for (const Recompute recompute : {Recompute::kOff, Recompute::kBlocks}) {
            MemoryRow row{mode, recompute};
            if (like(mode) != mode) {
                const auto same = std::ranges::find_if(out.memory_rows, [&](const MemoryRow& r) {
                    return r.mode == like(mode) && r.recompute == recompute;
                });
                row = *same;
                row.mode = mode;
            } else {
                const StepFamily& family = families.of(mode, recompute, Style::kFused);
                const MemoryReport report = family.memory(family.micro_batch(), workspaces);
                row.activations_bytes = report.activations_bytes;
                row.peak_bytes = report.arena_bytes;
                row.largest_micro_batch =
                    family.largest_micro_batch(out.memory_limit_bytes - host, workspaces);
            }
            out.memory_rows.push_back(row);
        }
    if (request.gpu)
        for (const PrecisionMode mode : {PrecisionMode::kFp32, PrecisionMode::kAmpFp16}) {
            const StepFamily& family = families.of(mode, Recompute::kOff, Style::kPlain);
            const MemoryReport report = family.memory(family.micro_batch(), workspaces);
            out.memory_rows.push_back(
                {mode, Recompute::kOff, Software::kOpByOp, report.activations_bytes, report.arena_bytes,
                 family.largest_micro_batch(out.memory_limit_bytes - host, workspaces)});
        }
    const RunConfig& config = request.config;
    const StepFamily& own = families.of(config.precision.mode, config.memory.recompute, Style::kFused);
    const std::int64_t rows = own.micro_batch() * config.train.accumulate;
    for (std::int64_t accumulate = 1; accumulate <= 64 && rows % accumulate == 0; accumulate *= 2) {
        const std::int64_t micro = rows / accumulate;
        out.accumulate_rows.push_back({accumulate, micro, own.memory(micro, workspaces).arena_bytes});
    }
    if (request.gpu) {
        out.memory = own.memory(own.micro_batch(), workspaces);
        return;
    }
    TrainingProgram program(config, out.data.data, threads);
    BatchShape evaluation = out.data.data.micro_batch;
    if (config.model.type != ModelType::kTransformer) evaluation.rows = evaluation_batch(config);
    program.expect_evaluation_batch(evaluation);
    out.memory = program.memory();
}

void fill_work(PlanStudy& out, const StepFamily& family, const std::vector<NodeWork>& work) {
    out.num_parameters = family.variables().num_parameters();
    const double samples = static_cast<double>(family.micro_batch());
    for (std::size_t n = 0; n < work.size(); ++n) {
        out.train_gflop += work[n].product_flops / samples * 1e-9;
        if (family.graph().nodes[n].phase == Phase::kForward)
            out.forward_gmac += work[n].product_flops / 2 / samples * 1e-9;
    }
}

FusionReport of_a_sample(FusionReport fusion, std::int64_t rows) {
    const double share = 1 / static_cast<double>(rows);
    fusion.bytes_before *= share;
    fusion.bytes_after *= share;
    for (FusionSaving& saving : fusion.savings) saving.bytes *= share;
    return fusion;
}

void check_request(const StudyRequest& request) {
    const bool fp8 = request.config.precision.mode == PrecisionMode::kFp8;
    if (fp8 && !request.config.model.is_text())
        throw Error(ExitCode::kUsage,
                    "precision.mode: fp8 is for the linear layers of GPTs and Transformers; amp_bf16 and "
                    "amp_fp16 are for ResNets");
    if (fp8 && request.gpu && request.gpu->peak(ComputeFormat::kFp8) == 0)
        throw Error(ExitCode::kUsage, "precision.mode: fp8 needs Ada, Hopper or Blackwell, " +
                                          request.gpu->name + " is " + request.gpu->generation() +
                                          "; --gpu list names them");
    if (request.num_gpus < 1) throw Error(ExitCode::kUsage, "--gpus: at least 1");
    if (request.num_gpus > 1 && !request.gpu)
        throw Error(ExitCode::kUsage, "--gpus needs --gpu NAME: one process runs on one CPU");
}

}  // namespace

std::string network_of(const ModelConfig& model) {
    if (model.type == ModelType::kResnet) return "resnet" + std::to_string(model.depth);
    if (model.type == ModelType::kGpt && model.depth == 12 && model.width == 768 && model.heads == 12)
        return "gpt2_124m";
    if (model.type == ModelType::kTransformer && model.depth == 6 && model.width == 1024 && model.heads == 16)
        return "transformer_big";
    return std::string(name_of(model.type));
}

PlanStudy study(const StudyRequest& request) {
    const double start = now_seconds();
    check_request(request);
    const RunConfig& config = request.config;
    const int threads = num_threads(config);
    PlanStudy out;
    out.config = config;
    out.data = describe_data(config);
    out.network = network_of(config.model);
    out.memory_limit_bytes = request.memory_bytes.value_or(
        request.gpu ? request.gpu->usable_bytes()
                    : config.memory.limit_bytes.value_or(available_memory_bytes()));
    out.batch = batch_rule(out.data.data.micro_batch.rows, config.train.accumulate);
    if (config.model.is_text())
        out.batch.sentence += "; of text each product sees rows x length = " +
                              std::to_string(out.data.data.micro_batch.rows * out.data.items_per_sample) +
                              " tokens";

    const Families families(config, out.data, threads);
    const StepFamily& own = families.of(config.precision.mode, config.memory.recompute, Style::kFused);
    fill_work(out, families.of(config.precision.mode, Recompute::kOff, Style::kFused),
              work_of(families.of(config.precision.mode, Recompute::kOff, Style::kFused).graph()));
    fill_memory(out, request, families, threads);

    StepVariant exact = own.variant();
    exact.mode = config.precision.mode;
    const StepFamily shown(config, out.data.data, threads, exact);
    const Plan plan = compile(shown.graph(), {&cpu_kernels(), threads, false});
    const Tf32 tf32 = config.precision.mode == PrecisionMode::kTf32 ? Tf32::kOn : Tf32::kOff;
    const AuditFor audit = {request.gpu ? &*request.gpu : nullptr, tf32, shown.not_in_fp8()};
    out.audit = audit_of(plan, audit);
    out.casts = casts_of(plan.graph);
    out.fusion = of_a_sample(shown.fusion(), out.data.data.micro_batch.rows);

    Outlook outlook(config, out.data);
    for (const PrecisionMode mode : kModes) {
        if (!request.gpu) continue;
        outlook.on_gpu(out, *request.gpu, mode, families.of(mode, Recompute::kOff, Style::kPlain),
                       Software::kOpByOp);
        outlook.on_gpu(out, *request.gpu, mode, families.of(mode, config.memory.recompute, Style::kFused),
                       Software::kFused);
    }
    if (request.gpu) {
        if (config.model.is_text())
            outlook.on_gpu(out, *request.gpu, PrecisionMode::kFp8,
                           families.of(PrecisionMode::kFp8, config.memory.recompute, Style::kFused),
                           Software::kFused);
        outlook.details_on_gpu(out, *request.gpu, shown, tf32);
        if (!config.model.is_text()) {
            const PrecisionMode mode = config.precision.mode;
            out.cudnn = cudnn_study(families.of(mode, Recompute::kOff, Style::kPlain).graph(), *request.gpu,
                                    tf32, narrow_type(mode));
            out.memory.workspace_bytes = out.cudnn.most_workspace_bytes();
            out.memory.arena_bytes += out.memory.workspace_bytes;
        }
        outlook.scaling_on_gpu(out, request, shown, tf32);
        out.batches = published_batches(out.network, request.gpu->name);
        for (CalibrationRow& row : calibrate_network(out.network)) out.calibration.push_back(std::move(row));
    } else {
        outlook.on_cpu(out, plan, shown.update(), measured_machine(shown, plan, threads));
    }
    out.seconds = now_seconds() - start;
    return out;
}

}  // namespace mpt

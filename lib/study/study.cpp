#include "study/study.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/clock.h"
#include "core/error.h"
#include "study/audit.h"
#include "study/calibration.h"
#include "study/cpu_probe.h"
#include "study/cudnn_study.h"
#include "study/memory_study.h"
#include "study/outlook.h"
#include "train/program_config.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

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

PlanStudy described(const StudyRequest& request) {
    const RunConfig& config = request.config;
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
    return out;
}

Tf32 tf32_of(const RunConfig& config) {
    return config.precision.mode == PrecisionMode::kTf32 ? Tf32::kOn : Tf32::kOff;
}

void fill_audit(PlanStudy& out, const StudyRequest& request, const Plan& plan, const StepFamily& own) {
    out.audit =
        audit_of(plan, {request.gpu ? &*request.gpu : nullptr, tf32_of(request.config), own.not_in_fp8()});
    out.casts = casts_of(plan.graph);
    out.fusion = of_a_sample(own.fusion(), out.data.data.micro_batch.rows);
}

void ask_cudnn(PlanStudy& out, const StudyRequest& request, const Families& families, int threads) {
    const PrecisionMode mode = request.config.precision.mode;
    out.cudnn = cudnn_study(families.of(mode, Recompute::kOff, Style::kPlain).graph(), *request.gpu,
                            {tf32_of(request.config), narrow_type(mode), threads});
    out.memory.workspace_bytes = out.cudnn.most_workspace_bytes();
    out.memory.arena_bytes += out.memory.workspace_bytes;
}

void look_at_gpu(PlanStudy& out, const StudyRequest& request, const Families& families, int threads) {
    const RunConfig& config = request.config;
    const Gpu& gpu = *request.gpu;
    const Outlook outlook(config, out.data);
    const auto add = [&](PrecisionMode mode, Recompute recompute, Software software) {
        outlook.on_gpu(out, gpu, mode, families.of(mode, recompute, style_of(software)), software);
    };
    for (const PrecisionMode mode : kStudiedModes) {
        add(mode, Recompute::kOff, Software::kOpByOp);
        add(mode, config.memory.recompute, Software::kFused);
    }
    if (config.model.is_text())
        add(PrecisionMode::kFp8, config.memory.recompute, Software::kFused);
    else
        ask_cudnn(out, request, families, threads);
    outlook.details_on_gpu(out, gpu, families.own(), tf32_of(config));
    outlook.scaling_on_gpu(out, request, families.own(), tf32_of(config));
    out.batches = published_batches(out.network, gpu.name);
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
    constexpr int kMostGpus = 1 << 20;
    if (request.num_gpus < 1 || request.num_gpus > kMostGpus)
        throw Error(ExitCode::kUsage, "--gpus: 1 to " + std::to_string(kMostGpus));
    if (request.num_gpus > 1 && !request.gpu)
        throw Error(ExitCode::kUsage, "--gpus needs --gpu NAME: one process runs on one CPU");
    if (request.num_gpus == 1 && !request.link.empty())
        throw Error(ExitCode::kUsage, "--link joins GPUs: it needs --gpu NAME and --gpus of 2 or more");
    if (request.gpu) find_link(request.link, *request.gpu);
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
    PlanStudy out = described(request);

    Families families(config, out.data, threads, request.gpu ? StudiedDevice::kGpu : StudiedDevice::kCpu);
    std::vector<Job> jobs = families.jobs();
    std::optional<Calibration> calibration;
    if (request.gpu)
        std::ranges::move(calibration.emplace(out.network).jobs(), std::back_inserter(jobs));
    else
        jobs.push_back([&] { out.memory = memory_of_run(config, out.data, threads); });
    run_jobs(jobs, threads);
    if (calibration) out.calibration = calibration->rows();

    const StepFamily& fused = families.of(config.precision.mode, Recompute::kOff, Style::kFused);
    fill_work(out, fused, work_of(fused.graph()));
    study_memory(out, request, families, threads);
    const Plan plan = compile(families.own().graph(), {&cpu_kernels(), threads, false});
    fill_audit(out, request, plan, families.own());
    if (request.gpu)
        look_at_gpu(out, request, families, threads);
    else
        Outlook(config, out.data)
            .on_cpu(out, plan, families.own().update(), measured_machine(families.own(), plan, threads));
    out.seconds = now_seconds() - start;
    return out;
}

}  // namespace mpt

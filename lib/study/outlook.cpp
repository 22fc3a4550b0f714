#include "study/outlook.h"

#include <algorithm>

#include "graph/op.h"
#include "train/program_config.h"

namespace mpt {

namespace {

constexpr std::size_t kSlowestShown = 10;

Tf32 tf32_of(PrecisionMode mode) {
    return mode == PrecisionMode::kTf32 ? Tf32::kOn : Tf32::kOff;
}

OpRow op_row(const Graph& graph, const NodeForecast& node) {
    const Node& n = graph.node(node.node);
    return {n.name,
            std::string(n.op->name),
            node.ms,
            node.flops * 1e-9,
            node.bytes * 1e-6,
            node.bound,
            node.product_flops > 0 ? std::string(name_of(node.format)) : std::string("f32")};
}

std::vector<OpRow> slowest_of(const Graph& graph, const GraphForecast& forecast) {
    std::vector<OpRow> rows;
    for (const NodeForecast& node : forecast.nodes) rows.push_back(op_row(graph, node));
    std::ranges::stable_sort(rows, std::greater<>{}, &OpRow::ms);
    if (rows.size() > kSlowestShown) rows.resize(kSlowestShown);
    return rows;
}

}  // namespace

ComputeFormat format_of(PrecisionMode mode) {
    switch (mode) {
        case PrecisionMode::kTf32:
            return ComputeFormat::kTf32;
        case PrecisionMode::kAmpFp16:
        case PrecisionMode::kFp16Pure:
            return ComputeFormat::kF16;
        case PrecisionMode::kAmpBf16:
            return ComputeFormat::kBf16;
        case PrecisionMode::kFp8:
            return ComputeFormat::kFp8;
        default:
            return ComputeFormat::kF32;
    }
}

void Outlook::finish(ForecastRow& row, double product_flops, double peak) const {
    const double accumulate = static_cast<double>(config_.train.accumulate);
    const double seconds = (accumulate * row.micro_step_ms + row.update_ms) * 1e-3;
    const double samples = accumulate * static_cast<double>(data_.data.micro_batch.rows);
    row.per_second = samples * static_cast<double>(data_.items_per_sample) / seconds;
    if (data_.train_samples > 0)
        row.epoch_seconds = static_cast<double>(data_.train_samples) / samples * seconds;
    row.tflops = accumulate * product_flops / seconds * 1e-12;
    row.mfu = row.tflops * 1e12 / peak;
}

void Outlook::on_gpu(PlanStudy& out, const Gpu& gpu, PrecisionMode mode, const StepFamily& family,
                     Software software) const {
    ForecastRow row;
    row.mode = mode;
    row.software = software;
    const ComputeFormat format = format_of(mode);
    if (gpu.peak(format) == 0) {
        row.unavailable = gpu.generation() + " has no " + std::string(name_of(format)) + " arithmetic";
        out.forecasts.push_back(row);
        return;
    }
    const std::vector<NodeWork> work = work_of(family.graph());
    const std::vector<NodeWork> update_work = work_of(family.update());
    const SustainedRates rates = sustained_rates(software);
    const GraphForecast step = forecast(family.graph(), work, gpu, tf32_of(mode), rates);
    const GraphForecast ideal = forecast(family.graph(), work, gpu, tf32_of(mode), ideal_rates());
    row.micro_step_ms = step.ms;
    row.update_ms = forecast(family.update(), update_work, gpu, Tf32::kOff, rates).ms;
    row.roofline_share = ideal.ms / step.ms;
    // Recomputed products are no progress: the useful ones are those of the study.
    finish(row, out.train_gflop * 1e9 * static_cast<double>(family.micro_batch()), gpu.peak(format));
    out.forecasts.push_back(row);
}

void Outlook::details_on_gpu(PlanStudy& out, const Gpu& gpu, const StepFamily& family, Tf32 tf32) const {
    const std::vector<NodeWork> work = work_of(family.graph());
    const GraphForecast step = forecast(family.graph(), work, gpu, tf32, sustained_rates(Software::kFused));
    out.slowest = slowest_of(family.graph(), step);
    out.device = gpu.name + " (" + gpu.generation() + ", compute capability " + std::to_string(gpu.major) +
                 "." + std::to_string(gpu.minor) + ")";
    for (std::size_t n = 0; n < work.size(); ++n)
        for (const Product& product : work[n].products) {
            const ComputeFormat format = compute_format(product, tf32, gpu);
            const ProductGrade graded = grade(product, format, gpu);
            const double ms = step.nodes[n].ms / static_cast<double>(work[n].products.size());
            const std::string name = product.node + " (" + std::string(name_of(product.kind)) + ")";
            const auto same = std::ranges::find_if(out.advice, [&](const AdviceRow& row) {
                return row.grade.grade == graded.grade && row.grade.why == graded.why &&
                       row.grade.advice == graded.advice;
            });
            AdviceRow& row =
                same == out.advice.end() ? out.advice.emplace_back(AdviceRow{graded, format, {}, 0}) : *same;
            row.nodes.push_back(name);
            row.ms += ms;
        }
    std::ranges::stable_sort(out.advice, [](const AdviceRow& a, const AdviceRow& b) {
        return a.grade.grade != b.grade.grade ? a.grade.grade < b.grade.grade : a.ms > b.ms;
    });
}

void Outlook::scaling_on_gpu(PlanStudy& out, const StudyRequest& request, const StepFamily& family,
                             Tf32 tf32) const {
    if (request.num_gpus <= 1) return;
    const SustainedRates rates = sustained_rates(Software::kFused);
    const std::vector<NodeWork> work = work_of(family.graph());
    const GraphForecast step = forecast(family.graph(), work, *request.gpu, tf32, rates);
    const double update =
        forecast(family.update(), work_of(family.update()), *request.gpu, Tf32::kOff, rates).ms;
    const double step_ms = static_cast<double>(config_.train.accumulate) * step.ms + update;
    const double bytes = static_cast<double>(family.variables().region_bytes(Region::kGradient));
    const Link link = find_link(request.link, *request.gpu);
    out.link = link.name;
    for (int n = 2; n < request.num_gpus; n *= 2)
        out.scaling.push_back(scale(n, link, bytes, step_ms, step.backward_ms));
    out.scaling.push_back(scale(request.num_gpus, link, bytes, step_ms, step.backward_ms));
}

void Outlook::on_cpu(PlanStudy& out, const Plan& plan, const Graph& update, const CpuMachine& machine) const {
    const std::vector<NodeWork> work = work_of(plan.graph);
    const GraphForecast step = forecast(plan, work, machine);
    const Plan update_plan = compile(update, {&cpu_kernels(), machine.num_threads, false});
    ForecastRow row;
    row.mode = config_.precision.mode;
    row.micro_step_ms = step.ms;
    row.update_ms = forecast(update_plan, work_of(update_plan.graph), machine).ms;
    double ideal = 0;
    for (const NodeWork& node : work) ideal += roofline_seconds(node, machine);
    row.roofline_share = 1e3 * ideal / step.ms;
    const bool bf16 = narrow_type(config_.precision.mode) == DType::bf16;
    finish(row, out.train_gflop * 1e9 * static_cast<double>(data_.data.micro_batch.rows),
           machine.peak(bf16 ? DType::bf16 : DType::f32));
    out.forecasts.push_back(row);
    out.slowest = slowest_of(plan.graph, step);
    out.device = print(machine);
}

}  // namespace mpt

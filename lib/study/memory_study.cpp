#include "study/memory_study.h"

#include <algorithm>

#include "train/program_config.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

using Workspaces = StepFamily::Workspaces;

void add_rows(PlanStudy& out, const StudyRequest& request) {
    for (const PrecisionMode mode : kStudiedModes)
        for (const Recompute recompute : {Recompute::kOff, Recompute::kBlocks})
            out.memory_rows.push_back({mode, recompute});
    if (request.gpu)
        for (const PrecisionMode mode : {PrecisionMode::kFp32, PrecisionMode::kAmpFp16})
            out.memory_rows.push_back({mode, Recompute::kOff, Software::kOpByOp});
    const std::int64_t accumulated = request.config.train.accumulate;
    const std::int64_t rows = out.data.data.micro_batch.rows * accumulated;
    for (std::int64_t accumulate = 1; accumulate <= 64 && rows % accumulate == 0; accumulate *= 2)
        out.accumulate_rows.push_back({accumulate, rows / accumulate});
}

void fill(MemoryRow& row, const StepFamily& family, std::int64_t limit_bytes, Workspaces workspaces) {
    const MemoryReport report = family.memory(family.micro_batch(), workspaces);
    row.activations_bytes = report.activations_bytes;
    row.peak_bytes = report.arena_bytes;
    row.largest_micro_batch = family.largest_micro_batch(limit_bytes, workspaces);
}

// Modes of equal sizes need the same.
void copy_like(std::vector<MemoryRow>& rows, StudiedDevice device) {
    for (MemoryRow& row : rows) {
        const PrecisionMode known = like(row.mode, device);
        if (known == row.mode) continue;
        const auto same = std::ranges::find_if(rows, [&](const MemoryRow& r) {
            return r.mode == known && r.recompute == row.recompute && r.software == row.software;
        });
        const PrecisionMode mode = row.mode;
        row = *same;
        row.mode = mode;
    }
}

}  // namespace

void study_memory(PlanStudy& out, const StudyRequest& request, const Families& families, int num_threads) {
    const Workspaces workspaces = request.gpu ? Workspaces::kIgnored : Workspaces::kOfKernels;
    add_rows(out, request);
    std::vector<Job> jobs;
    for (MemoryRow& row : out.memory_rows)
        if (like(row.mode, families.device()) == row.mode)
            jobs.push_back([&row, &out, &families, workspaces] {
                fill(row, families.of(row.mode, row.recompute, style_of(row.software)),
                     out.memory_limit_bytes, workspaces);
            });
    const StepFamily& own = families.own();
    for (AccumulateRow& row : out.accumulate_rows)
        jobs.push_back([&row, &own, workspaces] {
            row.peak_bytes = own.memory(row.micro_batch, workspaces).arena_bytes;
        });
    if (request.gpu) jobs.push_back([&] { out.memory = own.memory(own.micro_batch(), workspaces); });
    run_jobs(jobs, num_threads);
    copy_like(out.memory_rows, families.device());
}

MemoryReport memory_of_run(const RunConfig& config, const DescribedData& data, int num_threads) {
    TrainingProgram program(config, data.data, num_threads);
    BatchShape evaluation = data.data.micro_batch;
    if (config.model.type != ModelType::kTransformer) evaluation.rows = evaluation_batch(config);
    program.expect_evaluation_batch(evaluation);
    return program.memory();
}

}  // namespace mpt

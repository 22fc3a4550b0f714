// Memory of a program: whether its plan fits, the advice where it does not, and taking it.
#include <algorithm>

#include "backends/cuda/failures.h"
#include "core/available_memory.h"
#include "core/error.h"
#include "exec/executor.h"
#include "train/training_program.h"
#include "train/training_program_state.h"

namespace mpt {

std::int64_t available_memory_bytes() {
    return available_memory().bytes;
}

std::int64_t TrainingProgram::available_bytes() const {
    return impl_->device != nullptr ? impl_->device->free_bytes() : available_memory_bytes();
}

namespace {

// While it lives a device plans without running anything.
class SizesOnly {
  public:
    explicit SizesOnly(gpu::Device* device) : device_(device) {
        if (device_ == nullptr) return;
        before_ = device_->settings();
        gpu::DeviceSettings settings = before_;
        settings.autotune = gpu::Autotune::kOff;
        settings.sizes_only = true;
        device_->set(settings);
    }
    ~SizesOnly() {
        if (device_ != nullptr) device_->set(before_);
    }
    SizesOnly(const SizesOnly&) = delete;
    SizesOnly& operator=(const SizesOnly&) = delete;

  private:
    gpu::Device* device_;
    gpu::DeviceSettings before_;
};

}  // namespace

std::int64_t TrainingProgram::Impl::largest_micro_batch(std::int64_t bytes, Recompute recompute) const {
    const gpu::DeviceScope scope(device);
    const SizesOnly sizes_only(device);
    RunConfig tried = config;
    tried.memory.recompute = recompute;
    const auto fits = [&](std::int64_t rows) {
        VariableTable of_plan = variables;
        BatchShape shape = data.micro_batch;
        shape.rows = rows;
        CompiledGraph compiled = micro_step_graph(context(tried, of_plan, nullptr), shape);
        const Plan plan = compile(std::move(compiled.graph), plan_options(false));
        return lay_out(of_plan, plan.arena_bytes, plan.staging_bytes).bytes + data.host_bytes <= bytes;
    };
    if (!fits(1)) return 0;
    std::int64_t low = 1, high = 2;
    while (high <= (1 << 20) && fits(high)) low = high, high *= 2;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

std::int64_t TrainingProgram::largest_micro_batch(std::int64_t bytes, Recompute recompute) const {
    return impl_->largest_micro_batch(bytes, recompute);
}

namespace {

// Images and windows: the fewest micro-steps that divide the batch evenly and fit.
std::string advice_in_steps(const RunConfig& config, std::int64_t plain, std::int64_t recomputed) {
    const auto accumulate_for = [&](std::int64_t largest) {
        const std::int64_t batch = config.train.batch_size;
        std::int64_t steps = largest > 0 ? (batch + largest - 1) / largest : batch;
        while (batch % steps != 0) ++steps;
        return std::to_string(steps);
    };
    std::string advice = plain > 0 ? "set train.accumulate=" + accumulate_for(plain) : std::string();
    const std::string joint = advice.empty() ? "" : ", or ";
    if (recomputed >= config.train.micro_batch()) return advice + joint + "memory.recompute=blocks alone";
    if (recomputed > plain)
        advice += joint + "memory.recompute=blocks with train.accumulate=" + accumulate_for(recomputed);
    return advice;
}

// Batches by number of tokens: what the usual shape holds with as many rows as fit.
std::string advice_in_tokens(const TrainingProgram::Impl& program, std::int64_t plain,
                             std::int64_t recomputed) {
    const auto tokens = [&](std::int64_t rows) {
        return std::to_string(rows * program.data.micro_batch.length * program.config.train.accumulate);
    };
    std::string advice = plain > 0 ? "set train.batch_tokens=" + tokens(plain) : std::string();
    if (recomputed > plain)
        advice += (advice.empty() ? "" : ", or ") +
                  std::string("memory.recompute=blocks with train.batch_tokens=") + tokens(recomputed);
    return advice;
}

}  // namespace

void TrainingProgram::Impl::fail_for_memory(const std::string& there, std::int64_t bytes,
                                            const std::string& otherwise) const {
    const std::string need = "memory: the plan needs " + print_bytes(report.arena_bytes);
    const std::int64_t plain = largest_micro_batch(bytes + data.host_bytes, Recompute::kOff);
    const std::int64_t recomputed = largest_micro_batch(bytes + data.host_bytes, Recompute::kBlocks);
    if (plain == 0 && recomputed == 0)
        throw Error(ExitCode::kResource, need + ", " + there + "; not even one sample fits: " + otherwise);
    const bool by_tokens = config.model.type == ModelType::kTransformer;
    const std::string advice =
        by_tokens ? advice_in_tokens(*this, plain, recomputed) : advice_in_steps(config, plain, recomputed);
    throw Error(ExitCode::kResource, need + " at micro-batch " + to_string(data.micro_batch) + ", " + there +
                                         "; the largest micro-batch that fits is " + std::to_string(plain) +
                                         ", with memory.recompute=blocks " + std::to_string(recomputed) +
                                         "; " + advice);
}

// A tenth is left for what the device takes beside the plan: code, graphs, buffers of its libraries.
void TrainingProgram::Impl::fail_beside_plan(std::int64_t available, const std::string& failure) const {
    const std::string what = failure.substr(0, failure.find(';'));
    fail_for_memory(
        "there is " + print_bytes(available) + ", too little for it and what comes beside it (" + what + ")",
        std::min(available, report.arena_bytes) / 10 * 9, "a smaller model is needed");
}

void TrainingProgram::check_fits(std::int64_t available_bytes) const {
    const std::int64_t limit = impl_->config.memory.limit_bytes
                                   ? std::min(available_bytes, *impl_->config.memory.limit_bytes)
                                   : available_bytes;
    const std::int64_t need = impl_->report.arena_bytes;  // the data set is resident already
    if (need <= limit) return;
    const bool limited = limit < available_bytes;
    const std::string cause = impl_->device == nullptr ? available_memory().limited_by : std::string();
    const std::string there =
        limited ? "memory.limit allows " + print_bytes(limit) + " of the " + print_bytes(available_bytes) +
                      " that are free"
                : "there is " + print_bytes(limit) + (cause.empty() ? "" : " (limited by " + cause + ")");
    impl_->fail_for_memory(there, limit,
                           limited && need <= available_bytes ? "raise memory.limit, or take a smaller model"
                           : !limited && !cause.empty()       ? "raise " + cause + ", or take a smaller model"
                                                              : "a smaller model is needed");
}

std::int64_t TrainingProgram::allocated_bytes() const {
    return impl_->memory.allocated() ? impl_->memory.bytes() : 0;
}

void TrainingProgram::allocate() {
    Impl& p = *impl_;
    try {
        p.allocate();
    } catch (const gpu::OutOfMemory& error) {
        p.release();  // so that it counts as free
        p.fail_beside_plan(available_bytes(), error.what());
    }
}

void TrainingProgram::Impl::release() {
    for (auto* plans : {&micro_steps, &evaluations})
        for (auto& [shape, compiled] : *plans) compiled.executor.reset();
    update.executor.reset();
    staging.reset();
    memory = {};
}

void TrainingProgram::Impl::allocate() {
    memory = RunMemory(device, variables, layout, config.memory.huge_pages, num_threads);
    if (device != nullptr) {
        std::int64_t input_bytes = 0;
        for (const auto* plans : {&micro_steps, &evaluations})
            for (const auto& [shape, compiled] : *plans)
                input_bytes = std::max(input_bytes, compiled.plan.staged_input_bytes);
        staging = std::make_unique<Staging>(*device, static_cast<std::size_t>(input_bytes));
    }
    for (auto* plans : {&micro_steps, &evaluations})
        for (auto& [shape, compiled] : *plans) compiled.executor = executor_of(compiled.plan);
    update.executor = executor_of(update.plan);
}

}  // namespace mpt

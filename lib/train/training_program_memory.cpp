// Whether a run's plan fits the memory there is, and what would.
#include <algorithm>

#include "core/available_memory.h"
#include "core/error.h"
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

std::int64_t TrainingProgram::largest_micro_batch(std::int64_t bytes, Recompute recompute) const {
    const gpu::DeviceScope scope(impl_->device);
    const SizesOnly sizes_only(impl_->device);
    RunConfig config = impl_->config;
    config.memory.recompute = recompute;
    const auto fits = [&](std::int64_t rows) {
        VariableTable variables = impl_->variables;
        BatchShape shape = impl_->data.micro_batch;
        shape.rows = rows;
        CompiledGraph compiled = micro_step_graph(impl_->context(config, variables, nullptr), shape);
        const Plan plan = compile(std::move(compiled.graph), impl_->plan_options(false));
        return lay_out(variables, plan.arena_bytes, plan.staging_bytes).bytes + impl_->data.host_bytes <=
               bytes;
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
    const std::int64_t plain = largest_micro_batch(limit + impl_->data.host_bytes, Recompute::kOff);
    const std::int64_t recomputed = largest_micro_batch(limit + impl_->data.host_bytes, Recompute::kBlocks);
    if (plain == 0 && recomputed == 0)
        throw Error(ExitCode::kResource,
                    "memory: the plan needs " + print_bytes(need) + ", " + there +
                        "; not even one sample fits: " +
                        (limited && need <= available_bytes ? "raise memory.limit, or take a smaller model"
                         : !limited && !cause.empty()       ? "raise " + cause + ", or take a smaller model"
                                                            : "a smaller model is needed"));
    const bool by_tokens = impl_->config.model.type == ModelType::kTransformer;
    const std::string advice = by_tokens ? advice_in_tokens(*impl_, plain, recomputed)
                                         : advice_in_steps(impl_->config, plain, recomputed);
    throw Error(ExitCode::kResource, "memory: the plan needs " + print_bytes(need) + " at micro-batch " +
                                         to_string(impl_->data.micro_batch) + ", " + there +
                                         "; the largest micro-batch that fits is " + std::to_string(plain) +
                                         ", with memory.recompute=blocks " + std::to_string(recomputed) +
                                         "; " + advice);
}

}  // namespace mpt

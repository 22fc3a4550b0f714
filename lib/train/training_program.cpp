#include "train/training_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/threads.h"
#include "core/error.h"
#include "core/float_formats.h"
#include "core/philox.h"
#include "exec/executor.h"
#include "train/training_program_state.h"

namespace mpt {

void TrainingProgram::Impl::compile_micro_step(const BatchShape& shape) {
    if (micro_steps.contains(shape)) return;
    CompiledGraph compiled = micro_step_graph(
        context(config, variables, config.debug.dump_graph && micro_steps.empty() ? &dump : nullptr), shape);
    std::vector<std::string> widened = compiled.report.widened;
    std::ranges::copy(compiled.report.not_in_fp8, std::back_inserter(widened));
    micro_steps[shape] = {compile(std::move(compiled.graph), plan_options()), std::move(widened), nullptr};
}

void TrainingProgram::Impl::compile_evaluation(const BatchShape& shape) {
    if (evaluations.contains(shape)) return;
    CompiledGraph compiled = evaluation_graph(
        context(config, variables, config.debug.dump_graph && evaluations.empty() ? &dump : nullptr), shape);
    evaluations[shape] = {compile(std::move(compiled.graph), plan_options()), compiled.report.widened,
                          nullptr};
}

void TrainingProgram::Impl::enable_regions() {
    const DType narrow = narrow_type(config.precision.mode);
    if (narrow == DType::f32) return;
    const bool pure = config.precision.mode == PrecisionMode::kFp16Pure;
    variables.enable(pure ? Region::kMaster : Region::kNarrow, narrow, variables.parameter_elements());
}

void TrainingProgram::Impl::refresh_report() {
    std::int64_t step_bytes = update.plan.arena_bytes, staging_bytes = 0;
    report = {};
    for (const auto* plans : {&micro_steps, &evaluations})
        for (const auto& [shape, compiled] : *plans) {
            step_bytes = std::max(step_bytes, compiled.plan.arena_bytes);
            staging_bytes = std::max(staging_bytes, compiled.plan.staging_bytes);
            report.workspace_bytes = std::max(report.workspace_bytes, compiled.plan.workspace_bytes);
            if (compiled.plan.activations_bytes > report.activations_bytes) {
                report.activations_bytes = compiled.plan.activations_bytes;
                report.at_peak = compiled.plan.at_peak;
            }
        }
    report.workspace_bytes = std::max(report.workspace_bytes, update.plan.workspace_bytes);
    layout = lay_out(variables, step_bytes, staging_bytes);
    report.weights_bytes = variables.region_bytes(Region::kMaster);
    report.narrow_bytes = variables.region_bytes(Region::kNarrow);
    report.gradients_bytes = variables.region_bytes(Region::kGradient);
    report.optimizer_bytes = variables.region_bytes(Region::kMoment1) +
                             variables.region_bytes(Region::kMoment2) + variables.region_bytes(Region::kEma);
    report.statistics_bytes = variables.region_bytes(Region::kStatistics) +
                              variables.region_bytes(Region::kControl) +
                              variables.region_bytes(Region::kScaling);
    report.arena_bytes = layout.bytes;
    report.host_bytes = data.host_bytes;
}

TrainingProgram::TrainingProgram(const RunConfig& config, const DataDescription& data, int num_threads)
    : TrainingProgram(config, data, num_threads, run_device(config)) {}

TrainingProgram::TrainingProgram(const RunConfig& config, const DataDescription& data, int num_threads,
                                 RunsOn runs_on)
    : impl_(std::make_unique<Impl>(config, data, num_threads, std::move(runs_on))) {
    Impl& p = *impl_;
    const gpu::DeviceScope scope(p.device);
    cpu::start_threads(num_threads);
    // The first graph fills the variable table; what depends on the table follows.
    p.compile_micro_step(data.micro_batch);
    p.decay = decay_groups(
        p.variables, {std::ranges::count(config.optimizer.exclude_from_decay, ParameterKind::kNorm) != 0,
                      std::ranges::count(config.optimizer.exclude_from_decay, ParameterKind::kBias) != 0});
    p.update_settings = update_config(p.config, data.updates_per_epoch, data.total_updates, p.decay.segments);
    p.enable_regions();
    enable_update_regions(p.variables, p.update_settings);
    CompiledGraph update = update_graph(
        p.context(p.config, p.variables, config.debug.dump_graph ? &p.dump : nullptr), p.update_settings);
    p.update = {compile(std::move(update.graph), p.plan_options()), {}, nullptr};
    p.refresh_report();
}

TrainingProgram::~TrainingProgram() = default;

void TrainingProgram::expect_micro_batch(const BatchShape& shape) {
    const gpu::DeviceScope scope(impl_->device);
    impl_->compile_micro_step(shape);
    impl_->refresh_report();
}

void TrainingProgram::expect_evaluation_batch(const BatchShape& shape) {
    const gpu::DeviceScope scope(impl_->device);
    impl_->compile_evaluation(shape);
    impl_->refresh_report();
}

PrecisionMode TrainingProgram::precision_mode() const {
    return impl_->config.precision.mode;
}
const gpu::Device* TrainingProgram::device() const {
    return impl_->device;
}

std::int64_t TrainingProgram::available_bytes() const {
    return impl_->device != nullptr ? impl_->device->free_bytes() : available_memory_bytes();
}

const MemoryReport& TrainingProgram::memory() const {
    return impl_->report;
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
    const auto mib = [](std::int64_t bytes) { return std::to_string(bytes / (1024 * 1024)) + " MiB"; };
    const bool limited = limit < available_bytes;
    const std::string there =
        limited ? "memory.limit allows " + mib(limit) + " of the " + mib(available_bytes) + " that are free"
                : "there is " + mib(limit);
    const std::int64_t plain = largest_micro_batch(limit + impl_->data.host_bytes, Recompute::kOff);
    const std::int64_t recomputed = largest_micro_batch(limit + impl_->data.host_bytes, Recompute::kBlocks);
    if (plain == 0 && recomputed == 0)
        throw Error(ExitCode::kResource,
                    "memory: the plan needs " + mib(need) + ", " + there + "; not even one sample fits: " +
                        (limited && need <= available_bytes ? "raise memory.limit, or take a smaller model"
                                                            : "a smaller model is needed"));
    const bool by_tokens = impl_->config.model.type == ModelType::kTransformer;
    const std::string advice = by_tokens ? advice_in_tokens(*impl_, plain, recomputed)
                                         : advice_in_steps(impl_->config, plain, recomputed);
    throw Error(ExitCode::kResource, "memory: the plan needs " + mib(need) + " at micro-batch " +
                                         to_string(impl_->data.micro_batch) + ", " + there +
                                         "; the largest micro-batch that fits is " + std::to_string(plain) +
                                         ", with memory.recompute=blocks " + std::to_string(recomputed) +
                                         "; " + advice);
}

std::int64_t TrainingProgram::allocated_bytes() const {
    return impl_->memory.allocated() ? impl_->memory.bytes() : 0;
}

void TrainingProgram::allocate() {
    Impl& p = *impl_;
    p.memory = RunMemory(p.device, p.variables, p.layout, p.config.memory.huge_pages, p.num_threads);
    if (p.device != nullptr) {
        std::int64_t input_bytes = 0;
        for (const auto* plans : {&p.micro_steps, &p.evaluations})
            for (const auto& [shape, compiled] : *plans)
                input_bytes = std::max(input_bytes, compiled.plan.staged_input_bytes);
        p.staging = std::make_unique<Staging>(*p.device, static_cast<std::size_t>(input_bytes));
    }
    for (auto* plans : {&p.micro_steps, &p.evaluations})
        for (auto& [shape, compiled] : *plans) compiled.executor = p.executor_of(compiled.plan);
    p.update.executor = p.executor_of(p.update.plan);
}

namespace {

void store_element(std::byte* address, DType dtype, std::int64_t index, float value) {
    if (dtype == DType::f16)
        reinterpret_cast<f16*>(address)[index] = f16(value);
    else if (dtype == DType::bf16)
        reinterpret_cast<bf16*>(address)[index] = bf16(value);
    else
        reinterpret_cast<float*>(address)[index] = value;
}

}  // namespace

void TrainingProgram::Impl::fill(const Variable& variable, std::uint64_t seed, std::uint64_t index) {
    const Region region = is_statistic(variable.role) ? Region::kStatistics : Region::kMaster;
    std::byte* address = memory.host().address(region, variable.offset);
    RandomStream random(seed, RandomPurpose::kInit, index);
    for (std::int64_t i = 0; i < variable.num_elements(); ++i) {
        float value = variable.init.a;
        if (variable.init.kind == Initializer::Kind::kNormal) value = variable.init.a * random.normal();
        if (variable.init.kind == Initializer::Kind::kUniform)
            value = variable.init.a * (2 * random.uniform() - 1);
        store_element(address, variables.region(region).dtype, i, value);
    }
}

void TrainingProgram::initialize(std::uint64_t seed) {
    Impl& p = *impl_;
    p.require_store();
    for (int r = 0; r < kNumRegions; ++r)
        if (std::byte* region_base = region(static_cast<Region>(r)))
            std::memset(region_base, 0,
                        static_cast<std::size_t>(p.variables.region_bytes(static_cast<Region>(r))));
    for (std::size_t v = 0; v < p.variables.all().size(); ++v) p.fill(p.variables.all()[v], seed, v);
    set_control(initial_control(p.update_settings.rule));
    weights_changed();
    if (std::byte* ema = region(Region::kEma);
        ema != nullptr && p.variables.region(Region::kMaster).dtype == DType::f32)
        std::memcpy(ema, region(Region::kMaster),
                    static_cast<std::size_t>(p.variables.region_bytes(Region::kEma)));
}

void TrainingProgram::Impl::fill_inputs(const Executor& executor, const MicroBatch& batch,
                                        const MicroStepPlace* place) const {
    for (const GraphInput& input : batch.inputs) {
        const std::span<std::byte> staged = executor.input<std::byte>(std::string(input.name));
        MPT_CHECK(staged.size() == input.bytes.size(),
                  std::string(input.name) + ": " + std::to_string(input.bytes.size()) + " bytes, planned " +
                      std::to_string(staged.size()));
        std::ranges::copy(input.bytes, staged.begin());
    }
    if (place != nullptr) {
        executor.input<float>("weight")[0] =
            place->window_weight > 0 ? 1.0f / static_cast<float>(place->window_weight) : 0.0f;
        if (executor.has_input("step"))
            executor.input<std::int32_t>("step")[0] = static_cast<std::int32_t>(place->index);
    }
}

void TrainingProgram::Impl::read_results(StartedRun& started) {
    if (started.known) return;
    const Executor& executor = *started.executor;
    if (executor.has_output("control")) {
        std::memcpy(&started.control, executor.output<std::byte>("control", started.run).data(),
                    sizeof(StepControl));
    } else {
        started.sums.loss_sum = static_cast<double>(executor.output<float>("loss_sum", started.run)[0]);
        started.sums.weight = started.weight;
        started.sums.finite = std::isfinite(started.sums.loss_sum);
        for (std::size_t f = 0; executor.has_output(finite_flag(f)); ++f)
            started.sums.finite =
                executor.output<std::int32_t>(finite_flag(f), started.run)[0] != 0 && started.sums.finite;
    }
    if (executor.has_output("hits1")) {
        started.sums.hits1 = executor.output<std::int32_t>("hits1", started.run)[0];
        started.sums.hits5 = executor.output<std::int32_t>("hits5", started.run)[0];
    }
    started.known = true;
}

std::int64_t TrainingProgram::Impl::start(const Executor& executor, std::int64_t weight) {
    // An executor keeps the results of two runs.
    for (StartedRun& earlier : started)
        if (earlier.executor == &executor && earlier.run < executor.num_runs()) read_results(earlier);
    execute(executor);
    started.push_back({++num_started, &executor, executor.num_runs(), weight, false, {}, {}});
    if (device == nullptr) read_results(started.back());
    return num_started;
}

StartedRun TrainingProgram::Impl::take(std::int64_t number) {
    const auto found = std::ranges::find(started, number, &StartedRun::number);
    MPT_CHECK(found != started.end(), "results that were asked for before");
    StartedRun run = *found;
    started.erase(found);
    read_results(run);
    return run;
}

namespace {

const CompiledPlan& plan_of(const std::map<BatchShape, CompiledPlan>& plans, const BatchShape& shape) {
    const auto found = plans.find(shape);
    MPT_CHECK(found != plans.end(), "a batch of " + to_string(shape) + " was not expected");
    return found->second;
}

}  // namespace

void TrainingProgram::Impl::execute(const Executor& executor) {
    memory.before_step();
    if (timer)
        timer(executor, executor.run_timed());
    else if (observer)
        executor.run([&](const PlannedStep& step) { observer(executor, step); });
    else
        executor.run();
    memory.after_step();
}

void TrainingProgram::observe(StepObserver observer) {
    impl_->observer = std::move(observer);
}

void TrainingProgram::time_steps(StepTimer timer) {
    impl_->timer = std::move(timer);
}

std::int64_t TrainingProgram::start_micro_step(const MicroBatch& batch, const MicroStepPlace& place) {
    Impl& p = *impl_;
    p.require_store();
    p.last_micro_batch = batch;
    p.last_place = place;
    const Executor& executor = *plan_of(p.micro_steps, batch.shape).executor;
    p.fill_inputs(executor, batch, &place);
    return p.start(executor, batch.weight);
}

std::int64_t TrainingProgram::start_update() {
    impl_->require_store();
    return impl_->start(*impl_->update.executor, 0);
}

BatchResult TrainingProgram::micro_step_result(std::int64_t number) {
    return impl_->take(number).sums;
}

StepControl TrainingProgram::update_result(std::int64_t number) {
    return impl_->take(number).control;
}

bool TrainingProgram::known_nonfinite(std::int64_t number) const {
    const auto found = std::ranges::find(impl_->started, number, &StartedRun::number);
    return found != impl_->started.end() && found->known && !found->sums.finite;
}

void TrainingProgram::keep_running_state() {
    for (const Region region : {Region::kStatistics, Region::kScaling})
        if (const std::int64_t bytes = impl_->variables.region_bytes(region); bytes > 0)
            impl_->memory.keep(region, bytes);
}

void TrainingProgram::put_back_running_state() {
    for (const Region region : {Region::kStatistics, Region::kScaling})
        if (impl_->variables.region_bytes(region) > 0) impl_->memory.put_back(region);
}

bool TrainingProgram::runs_late() const {
    return impl_->device != nullptr;
}

BatchResult TrainingProgram::run_micro_step(const MicroBatch& batch, const MicroStepPlace& place) {
    return micro_step_result(start_micro_step(batch, place));
}

StepControl TrainingProgram::run_update() {
    return update_result(start_update());
}

BatchResult TrainingProgram::run_evaluation(const MicroBatch& batch) {
    Impl& p = *impl_;
    p.require_store();
    const Executor& executor = *plan_of(p.evaluations, batch.shape).executor;
    p.fill_inputs(executor, batch, nullptr);
    return p.take(p.start(executor, batch.weight)).sums;
}

bool TrainingProgram::has_ema() const {
    return impl_->variables.region_bytes(Region::kEma) != 0;
}

void TrainingProgram::swap_ema() {
    MPT_CHECK(has_ema(), "this run keeps no moving average");
    float* ema = reinterpret_cast<float*>(region(Region::kEma));
    float* master = reinterpret_cast<float*>(region(Region::kMaster));
    MPT_CHECK(impl_->variables.region(Region::kMaster).dtype == DType::f32,
              "the moving average needs f32 masters");
    std::swap_ranges(ema, ema + impl_->variables.parameter_elements(), master);
    weights_changed();
}

const VariableTable& TrainingProgram::variables() const {
    return impl_->variables;
}

std::byte* TrainingProgram::region(Region r) {
    impl_->require_store();
    return impl_->memory.host().region(r);
}

void TrainingProgram::weights_changed() {
    std::byte* narrow = region(Region::kNarrow);
    if (narrow == nullptr) return;
    const float* master = reinterpret_cast<const float*>(region(Region::kMaster));
    const DType dtype = impl_->variables.region(Region::kNarrow).dtype;
    cpu::parallel_for(impl_->variables.parameter_elements(), 1 << 16, impl_->num_threads,
                      [&](cpu::Range range, int) {
                          for (std::int64_t i = range.begin; i < range.end; ++i)
                              store_element(narrow, dtype, i, master[i]);
                      });
}

StepControl TrainingProgram::control() const {
    StepControl control;
    impl_->memory.read(Region::kControl, &control, sizeof control);
    return control;
}

void TrainingProgram::set_control(const StepControl& control) {
    std::memcpy(region(Region::kControl), &control, sizeof control);
}

std::string TrainingProgram::decay_summary() const {
    return impl_->decay.summary;
}
std::string TrainingProgram::graph_text() const {
    return impl_->dump;
}

std::size_t TrainingProgram::activation_bytes() const {
    return static_cast<std::size_t>(impl_->micro_steps.at(impl_->data.micro_batch).plan.activations_bytes);
}

std::string TrainingProgram::plan_text() const {
    std::string text;
    for (const auto& [shape, compiled] : impl_->micro_steps)
        text += "== micro_step, batch " + to_string(shape) + "\n" + print(compiled.plan);
    return text + "== update\n" + print(impl_->update.plan);
}

}  // namespace mpt

#include "study/cpu_probe.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "backends/cpu/arena.h"
#include "backends/cpu/threads.h"
#include "core/clock.h"
#include "core/error.h"
#include "graph/op.h"
#include "study/description.h"
#include "train/run_setup.h"

namespace mpt {

namespace {

constexpr int kTries = 5;                       // the fastest counts: others were disturbed
constexpr double kAgreement = 0.1;              // of two runs, neither of which was
constexpr double kProbeSeconds = 5e-3;          // that one run of a node is aimed at
constexpr double kMostProbeSeconds = 0.05;      // that one run may take where smaller nodes serve as well
constexpr double kBudgetSeconds = 0.7;          // of all kinds together
constexpr double kMeasuredShare = 0.98;         // of the forecast; what is left is many kinds of little
constexpr std::int64_t kMostBytes = 512 << 20;  // of one node's values

// The rate of a thread while all are at work: the mean of what each reached at best. A run takes some 50 us,
// so that waking the threads, and whoever else runs, count for little.
double fastest(int num_threads, double (*run)()) {
    constexpr int kRuns = 60;
    std::vector<double> best(static_cast<std::size_t>(num_threads));
    cpu::run_threads(num_threads, [&](int thread) {
        double& mine = best[static_cast<std::size_t>(thread)];
        for (int r = 0; r < kRuns; ++r) {
            const double start = now_seconds();
            const double flops = run();
            mine = std::max(mine, flops / (now_seconds() - start));
        }
    });
    double sum = 0;
    for (const double rate : best) sum += rate;
    return sum / num_threads;
}

// Of all threads of this process together, as the scheduler counts it; nothing where it does not.
struct CoreTime {
    double ran = 0, waited = 0;  // for a core
};
CoreTime core_time() {
    CoreTime sum;
    std::error_code error;
    for (std::filesystem::directory_iterator task("/proc/self/task", error), end; !error && task != end;
         task.increment(error)) {
        std::ifstream file(task->path() / "schedstat");
        double ran = 0, waited = 0;
        if (!(file >> ran >> waited)) continue;
        sum.ran += ran;
        sum.waited += waited;
    }
    return sum;
}

double waited_since(const CoreTime& before) {
    const CoreTime now = core_time();
    const double waited = std::max(0.0, now.waited - before.waited);
    return waited > 0 ? waited / (waited + std::max(0.0, now.ran - before.ran)) : 0;
}

// One block for all that is timed, one after the other: its pages are made once.
class ProbeMemory {
  public:
    explicit ProbeMemory(int num_threads) : num_threads_(num_threads) {}
    std::byte* of(std::int64_t bytes) {
        if (arena_.bytes() < bytes) {
            arena_ = {};
            arena_ = cpu::Arena(bytes, true, num_threads_);
        }
        return arena_.data();
    }

  private:
    int num_threads_;
    cpu::Arena arena_;
};

// Reads two arrays and writes one, all larger than caches.
double measured_bandwidth(int num_threads, ProbeMemory& memory) {
    constexpr std::int64_t kElements = 12 << 20;
    float* a = reinterpret_cast<float*>(memory.of(3 * kElements * static_cast<std::int64_t>(sizeof(float))));
    const float *b = a + kElements, *c = b + kElements;
    double best = 0;
    for (int t = 0; t < kTries; ++t) {
        const double start = now_seconds();
        cpu::parallel_for(kElements, 1 << 12, num_threads, [&](cpu::Range range, int) {
            for (std::int64_t i = range.begin; i < range.end; ++i) a[i] = b[i] + 0.5F * c[i];
        });
        best = std::max(best, 3.0 * sizeof(float) * kElements / (now_seconds() - start));
    }
    return best;
}

// Values of one node; every float is a small normal number, every index zero.
class NodeRun {
  public:
    NodeRun(const Graph& graph, const Node& node, PreparedKernel kernel, ProbeMemory& memory)
        : kernel_(std::move(kernel)) {
        std::int64_t bytes = 0;
        const auto place = [&](ValueId id) {
            const std::int64_t at = bytes;
            bytes += (graph.type(id).bytes() + 127) / 64 * 64;
            return at;
        };
        std::vector<std::int64_t> in, out;
        for (const ValueId id : node.inputs) in.push_back(id == kNone ? -1 : place(id));
        for (const ValueId id : node.outputs) out.push_back(place(id));
        for (const Alias alias : node.op->must_alias)
            out[static_cast<std::size_t>(alias.output)] = in[static_cast<std::size_t>(alias.input)];
        const std::int64_t workspace = bytes;
        std::byte* data = memory.of(bytes + static_cast<std::int64_t>(kernel_.workspace_bytes) + 64);
        for (std::size_t i = 0; i < in.size(); ++i) {
            inputs_.push_back(in[i] < 0 ? nullptr : data + in[i]);
            if (in[i] < 0) continue;
            constexpr std::byte kSmallNormal{0x38};  // as f16, bf16 and f32
            const TensorType& type = graph.type(node.inputs[i]);
            std::fill_n(data + in[i], type.bytes(), is_float(type.dtype) ? kSmallNormal : std::byte{0});
        }
        for (const std::int64_t at : out) outputs_.push_back(at < 0 ? nullptr : data + at);
        workspace_ = data + workspace;
    }
    double seconds() const {
        const double start = now_seconds();
        kernel_.run({inputs_, outputs_, workspace_});
        return now_seconds() - start;
    }

  private:
    PreparedKernel kernel_;
    std::vector<void*> inputs_, outputs_;
    void* workspace_ = nullptr;
};

std::int64_t bytes_of(const Graph& graph, const Node& node) {
    std::int64_t bytes = 0;
    for (const auto* values : {&node.inputs, &node.outputs})
        for (const ValueId id : *values) bytes += id == kNone ? 0 : graph.type(id).bytes();
    return bytes;
}

class Prober {
  public:
    Prober(const StepFamily& family, const Plan& plan, CpuMachine& machine, ProbeMemory& memory)
        : family_(family),
          plan_(plan),
          work_(work_of(plan.graph)),
          machine_(machine),
          memory_(memory),
          until_(now_seconds() + kBudgetSeconds) {}

    void run() {
        const GraphForecast assumed = forecast(plan_, work_, machine_);
        struct Kind {
            double ms = 0;
            std::vector<const PlannedStep*> steps;
        };
        std::map<std::string, Kind> kinds;
        for (const PlannedStep& step : plan_.steps) {
            Kind& kind = kinds[kind_of(plan_.graph, step)];
            kind.ms += assumed.nodes[static_cast<std::size_t>(&step - plan_.steps.data())].ms;
            kind.steps.push_back(&step);
        }
        std::vector<std::pair<std::string, Kind>> by_cost(kinds.begin(), kinds.end());
        std::ranges::stable_sort(by_cost,
                                 [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
        std::vector<KernelRate> rates;
        double left = assumed.ms;
        for (const auto& [name, kind] : by_cost) {
            if (left < (1 - kMeasuredShare) * assumed.ms) break;
            left -= kind.ms;
            for (const PlannedStep* step : chosen(kind.steps))
                if (const std::optional<double> each = seconds_each(*step))
                    rates.push_back({name, features_of(work_[static_cast<std::size_t>(step->node)]), *each});
        }
        machine_.rates = std::move(rates);
    }

  private:
    const NodeWork& work(const PlannedStep* step) const {
        return work_[static_cast<std::size_t>(step->node)];
    }
    // Rows that a run has a multiple of. Threads of a convolution take images each: as many for all, in runs
    // of all and of half of them.
    std::int64_t unit_of(const PlannedStep* step) const {
        const std::vector<Product>& products = work(step).products;
        const bool images = !products.empty() && products.front().source == Product::Source::kConvolution;
        return images ? 2 * machine_.num_threads : 1;
    }
    double row_seconds(const PlannedStep* step) const {
        return std::max(roofline_seconds(work(step), machine_) / static_cast<double>(family_.micro_batch()),
                        1e-9);
    }
    // Of products the one with the fewest features and the one with the most; of others the largest. Those
    // that take long count only where there are no others.
    std::vector<const PlannedStep*> chosen(std::vector<const PlannedStep*> steps) const {
        const auto quick = std::ranges::partition(steps, [&](const PlannedStep* step) {
            return row_seconds(step) * static_cast<double>(unit_of(step)) > kMostProbeSeconds;
        });
        if (!quick.empty()) steps.erase(steps.begin(), quick.begin());
        const auto fewer = [&](const PlannedStep* a, const PlannedStep* b) {
            return std::pair(features_of(work(a)), work(a).bytes) <
                   std::pair(features_of(work(b)), work(b).bytes);
        };
        const auto [least, most] = std::ranges::minmax_element(steps, fewer);
        if (features_of(work(*least)) == features_of(work(*most))) return {*most};
        return {*least, *most};
    }

    // At the family's micro-batch, from two smaller ones: what a call costs whatever its rows, as packing and
    // transforming weights, is told from what each row costs. None where the time is up, or fewer rows mean
    // another kernel.
    std::optional<double> seconds_each(const PlannedStep& step) {
        const std::size_t n = static_cast<std::size_t>(step.node);
        const std::int64_t all = family_.micro_batch();
        const double row = row_seconds(&step);
        const std::int64_t unit = unit_of(&step);
        std::int64_t rows = static_cast<std::int64_t>(kProbeSeconds / row) / unit * unit;
        rows = std::min(std::max(rows, unit), all);
        if (now_seconds() + 4 * row * static_cast<double>(rows) > until_) return std::nullopt;
        const std::optional<double> more = seconds_at(step, rows);
        const double units = work_[n].product_flops > 0 ? work_[n].product_flops : work_[n].bytes;
        if (!more || units <= 0) return std::nullopt;
        if (rows == all) return *more / units;
        const double scaled = *more * static_cast<double>(all) / static_cast<double>(rows);
        const std::optional<double> less = rows > 1 ? seconds_at(step, rows / 2) : std::nullopt;
        if (!less) return scaled / units;
        const double each = (*more - *less) / static_cast<double>(rows - rows / 2);
        const double there = *more + each * static_cast<double>(all - rows);
        // Never better than twice as fast as the plain proportion: that would be noise.
        return std::clamp(there, 0.5 * scaled, scaled) / units;
    }
    std::optional<double> seconds_at(const PlannedStep& step, std::int64_t rows) {
        const Graph& graph = at(rows);
        const Node& node = graph.node(step.node);
        if (bytes_of(graph, node) > kMostBytes) return std::nullopt;
        const Signature signature = signature_of(graph, node, machine_.num_threads);
        const Kernel* kernel = choose_kernel(cpu_kernels(), signature, nullptr);
        if (kernel == nullptr || kernel->name != step.kernel) return std::nullopt;
        PreparedKernel prepared = kernel->prepare(signature);
        if (prepared.description != step.prepared.description) return std::nullopt;
        std::optional<NodeRun> run;
        try {
            run.emplace(graph, node, std::move(prepared), memory_);
        } catch (const Error&) {
            return std::nullopt;
        }
        double best = run->seconds();
        if (now_seconds() > until_) return std::nullopt;
        // Short runs are all tried, long ones until two agree.
        for (int t = 1; t < kTries; ++t) {
            const double again = run->seconds();
            const bool agree = std::abs(again - best) < kAgreement * best;
            best = std::min(best, again);
            if (agree && best >= kProbeSeconds / 2) break;
        }
        return best;
    }
    const Graph& at(std::int64_t rows) {
        const auto [found, fresh] = graphs_.try_emplace(rows);
        if (fresh) found->second = family_.at(rows);
        return found->second;
    }

    const StepFamily& family_;
    const Plan& plan_;
    std::vector<NodeWork> work_;
    CpuMachine& machine_;
    ProbeMemory& memory_;
    double until_;
    std::map<std::int64_t, Graph> graphs_;
};

CpuMachine measured_peaks(int num_threads, ProbeMemory& memory) {
    cpu::start_threads(num_threads);
    CpuMachine machine;
    machine.name = cpu_name();
    machine.num_threads = num_threads;
    const double f32 = fastest(num_threads, run_f32_products);
    if (f32 > 0) machine.core_flops = f32;
    machine.core_bf16_flops = fastest(num_threads, run_bf16_products);
    try {
        machine.bandwidth = measured_bandwidth(num_threads, memory);
    } catch (const Error&) {  // no room: what a plan says of memory does not need it
    }
    return machine;
}

}  // namespace

CpuMachine measured_machine(int num_threads) {
    const double start = now_seconds();
    const CoreTime before = core_time();
    ProbeMemory memory(num_threads);
    CpuMachine machine = measured_peaks(num_threads, memory);
    machine.waited = waited_since(before);
    machine.measured_in_ms = 1e3 * (now_seconds() - start);
    return machine;
}

CpuMachine measured_machine(const StepFamily& family, const Plan& plan, int num_threads) {
    const double start = now_seconds();
    const CoreTime before = core_time();
    ProbeMemory memory(num_threads);
    CpuMachine machine = measured_peaks(num_threads, memory);
    Prober(family, plan, machine, memory).run();
    machine.waited = waited_since(before);
    machine.measured_in_ms = 1e3 * (now_seconds() - start);
    return machine;
}

CpuMachine measured_machine(const RunConfig& config) {
    const DescribedData data = describe_data(config);
    const int threads = num_threads(config);
    const StepFamily family(config, data.data, threads,
                            {config.precision.mode, config.memory.recompute, Style::kFused});
    const Plan plan = compile(family.graph(), {&cpu_kernels(), threads, false});
    return measured_machine(family, plan, threads);
}

}  // namespace mpt

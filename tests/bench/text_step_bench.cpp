// A whole training step of a Transformer on random tokens, without data or files: tokens per second, memory,
// and where the time goes, by op.
//   text_step_bench [small|124M|base] [f32|f16|bf16] [batch] [length] [threads] [steps] [print the plan: 1]
// The shapes are those of PyTorch's peers: GPT small (6 x 384, bytes), GPT-2 124M, Transformer base (dropout
// 0.1, 8000 words). Steps are wall times; an op's is the processor's over the threads, which with one thread
// is what the work costs on a busy machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "backends/cpu/arena.h"
#include "core/float_formats.h"
#include "core/philox.h"
#include "exec/executor.h"
#include "layers/update.h"
#include "models/gpt/gpt.h"
#include "models/transformer/transformer.h"
#include "ops/loss_seed/loss_seed.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "passes/pipeline.h"

namespace mpt {
namespace {

struct Setting {
    std::string model = "small";
    DType narrow = DType::f32;
    std::int64_t batch = 16, length = 256;
    int num_threads = 2, steps = 5;
    std::int64_t vocabulary() const { return model == "small" ? 256 : model == "base" ? 8000 : 50257; }
};

ValueId logits_of(GraphBuilder& b, const Setting& s) {
    const TensorType ids{{s.batch, s.length}, DType::i32};
    if (s.model == "base") {
        TransformerConfig config;
        config.source_vocabulary = config.target_vocabulary = s.vocabulary();
        config.dropout = 0.1;
        config.training = true;
        TransformerInputs in;
        in.source = b.input("source", ids);
        in.source_lengths = b.input("source_lengths", {{s.batch}, DType::i32});
        in.target = b.input("target", ids);
        in.step = b.input("step", {{}, DType::i32});
        return transformer(b, in, config);
    }
    GptConfig config;
    config.vocabulary = s.vocabulary();
    if (s.model == "small") config.depth = 6, config.width = 384, config.heads = 6;
    return gpt(b, {b.input("tokens", ids)}, config);
}

SegmentTable segments_of(const VariableTable& variables) {
    std::vector<Segment> segments;
    for (const Variable& v : variables.all()) segments.push_back({v.offset, v.shape.num_elements(), true});
    return SegmentTable(segments);
}

// Plans of a micro-step and an update over one store.
struct Step {
    VariableTable variables;
    Plan micro, update;
    cpu::Arena arena;
    Store store;

    explicit Step(const Setting& s) {
        Graph graph;
        GraphBuilder b(graph, &variables);
        const ValueId logits = logits_of(b, s);
        const ValueId targets = b.input("targets", {{s.batch * s.length}, DType::i32});
        const double smoothing = s.model == "base" ? 0.1 : 0;
        const ValueId loss =
            softmax_cross_entropy(b, logits, targets, {smoothing, -1, s.vocabulary()}).loss_sum;
        b.output("loss", loss);
        PipelineOptions options;
        options.precision.narrow = s.narrow;
        options.num_threads = s.num_threads;
        options.kernels = &cpu_kernels();
        variables.enable(Region::kControl, DType::u8, sizeof(StepControl));
        const ValueId seed = loss_seed(b, b.input("weight", {{}, DType::f32}), control_value(b));
        run_pipeline(b, loss, seed, options);
        micro = compile(std::move(graph), {&cpu_kernels(), s.num_threads});

        UpdateConfig config;
        config.rule.schedule.base = 1e-4;
        config.rule.loss_scale.init = s.narrow == DType::f16 ? 1024 : 1;
        config.optimizer = AdamUpdateAttributes{.beta2 = 0.95, .segments = segments_of(variables)};
        if (s.narrow != DType::f32)
            variables.enable(Region::kNarrow, s.narrow, variables.parameter_elements());
        enable_update_regions(variables, config);
        Graph update_graph;
        GraphBuilder update_builder(update_graph, &variables);
        build_update(update_builder, config);
        update = compile(std::move(update_graph), {&cpu_kernels(), s.num_threads});

        const StoreLayout layout = lay_out(variables, std::max(micro.arena_bytes, update.arena_bytes));
        arena = cpu::Arena(layout.bytes, true, s.num_threads);
        store = Store(variables, layout, arena.data());
        const StepControl control = initial_control(config.rule);
        std::memcpy(store.region(Region::kControl), &control, sizeof control);
        fill(s);
    }

  private:
    void fill(const Setting& s) const {
        RandomStream random(1, RandomPurpose::kSample, 0);
        auto* master = reinterpret_cast<float*>(store.region(Region::kMaster));
        for (const Variable& v : variables.all())
            for (std::int64_t i = 0; i < v.shape.num_elements(); ++i)
                master[v.offset + i] = v.role == Role::kNormGain ? 1 : 0.1f * (random.uniform() - 0.5f);
        if (s.narrow == DType::f32) return;
        auto* narrow = reinterpret_cast<std::uint16_t*>(store.region(Region::kNarrow));
        for (std::int64_t i = 0; i < variables.parameter_elements(); ++i)
            narrow[i] = s.narrow == DType::f16 ? f16_bits(master[i]) : bf16_bits(master[i]);
    }
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Spent {
    double seconds = 0, flops = 0;
    int calls = 0;
};

void run_timed(const Executor& executor, int num_threads, std::map<std::string, Spent>& spent) {
    double last = processor_seconds();
    executor.run([&](const PlannedStep& step) {
        const double end = processor_seconds();
        const Node& node = executor.plan().graph.node(step.node);
        Spent& of_op = spent[std::string(node.op->name) + " by " + step.kernel];
        of_op.seconds += (end - last) / num_threads;
        of_op.flops += cost_of(executor.plan().graph, node).flops;
        ++of_op.calls;
        last = processor_seconds();
    });
}

void set_inputs(const Executor& micro, const Setting& s, int number) {
    RandomStream random(2, RandomPurpose::kSample, static_cast<std::uint64_t>(number));
    for (const Value& value : micro.plan().graph.values) {
        if (value.kind != ValueKind::kInput || value.type.dtype != DType::i32) continue;
        for (std::int32_t& id : micro.input<std::int32_t>(value.name))
            id = value.name == "step" ? number
                 : value.name == "source_lengths"
                     ? static_cast<std::int32_t>(s.length)
                     : static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(s.vocabulary())));
    }
    micro.input<float>("weight")[0] = 1 / static_cast<float>(s.batch * s.length);
}

void run(const Setting& s, bool print_plan) {
    const Step step(s);
    if (print_plan) std::printf("%s", print(step.micro).c_str());
    const Executor micro(step.micro, step.store), update(step.update, step.store);
    std::vector<double> times;
    std::map<std::string, Spent> spent;
    float loss = 0;
    for (int number = 0; number < s.steps + 1; ++number) {
        set_inputs(micro, s, number);
        const double start = now();
        if (number == 0) {
            run_timed(micro, s.num_threads, spent);  // warms up, too
        } else {
            run_timed(micro, s.num_threads, spent);
        }
        loss = micro.output<float>("loss")[0];
        run_timed(update, s.num_threads, spent);
        if (number == 0) spent.clear();
        if (number > 0) times.push_back(now() - start);
    }
    std::ranges::sort(times);
    const double median = times[times.size() / 2], tokens = static_cast<double>(s.batch * s.length);
    std::vector<std::pair<std::string, Spent>> by_time(spent.begin(), spent.end());
    std::ranges::sort(by_time,
                      [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    double cost = 0;
    for (const auto& [name, of_op] : by_time) cost += of_op.seconds / s.steps;
    for (const auto& [name, of_op] : by_time)
        std::printf("%9.2f ms %5d calls %7.1f GFLOP/s  %s\n", of_op.seconds / s.steps * 1e3,
                    of_op.calls / s.steps, of_op.flops / of_op.seconds * 1e-9, name.c_str());
    std::printf(
        "%s %s batch %ld length %ld threads %d: %.1f tokens/s, median %.1f ms, fastest %.1f ms, processor's "
        "%.1f ms\n",
        s.model.c_str(), std::string(name_of(s.narrow)).c_str(), static_cast<long>(s.batch),
        static_cast<long>(s.length), s.num_threads, tokens / median, median * 1e3, times[0] * 1e3,
        cost * 1e3);
    std::printf("loss a token %.4f; activations %.1f MB, workspace %.1f MB, all memory %.1f MB\n",
                static_cast<double>(loss) / tokens, static_cast<double>(step.micro.activations_bytes) * 1e-6,
                static_cast<double>(step.micro.workspace_bytes) * 1e-6,
                static_cast<double>(step.arena.bytes()) * 1e-6);
}

}  // namespace
}  // namespace mpt

int main(int argc, char** argv) {
    const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
    mpt::Setting s;
    if (argc > 1) s.model = argv[1];
    if (argc > 2) s.narrow = mpt::dtype_named(argv[2]).value_or(mpt::DType::f32);
    s.batch = number(3, s.model == "124M" ? 4 : s.model == "base" ? 32 : 16);
    s.length = number(4, s.model == "base" ? 32 : 256);
    s.num_threads = number(5, 2);
    s.steps = number(6, 5);
    mpt::run(s, number(7, 0) != 0);
}

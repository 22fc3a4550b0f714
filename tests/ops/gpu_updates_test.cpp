// What the generic op test cannot draw, on the host twin and, with MPT_TEST_GPU, on a GPU: updates against
// their f64 references, from the same random state: values within f32 rounding, gradients left zero, skipped
// updates that change nothing else; gradient_check on the buffers of H05; the average of the weights;
// step_decision against its rule on the CPU.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "backends/cuda/host_twin/host_twin.h"
#include "core/philox.h"
#include "graph/gpu_kernels.h"
#include "ops/adam_update/adam_update.h"
#include "ops/ema_update/ema_update.h"
#include "ops/gradient_check/gradient_check.h"
#include "ops/lamb_update/lamb_update.h"
#include "ops/lars_update/lars_update.h"
#include "ops/sgd_update/sgd_update.h"
#include "ops/step_decision/step_decision.h"
#include "support/device_mirror.h"
#include "support/guarded_buffer.h"

using namespace mpt;
using test::GuardedBuffer;

namespace {

// Kernels and what they run on; null: the references on the CPU.
struct Target {
    const KernelTable& kernels;
    gpu::Device* device;
};

Target references() {
    return {reference_kernels(), nullptr};
}

// Runs the first kernel that takes the call, outputs in the memory of `in`; inputs are in `buffers`.
void run_in_place(const Target& target, const Signature& s, const std::vector<void*>& in,
                  std::vector<GuardedBuffer*> buffers) {
    const gpu::DeviceScope scope(target.device);
    const Kernel* kernel = choose_kernel(target.kernels, s, nullptr);
    REQUIRE(kernel != nullptr);
    const PreparedKernel prepared = kernel->prepare(s);
    GuardedBuffer workspace(prepared.workspace_bytes);
    std::vector<void*> out(s.outputs.size());
    for (const Alias alias : s.op->must_alias)
        out[static_cast<std::size_t>(alias.output)] = in[static_cast<std::size_t>(alias.input)];
    buffers.push_back(&workspace);
    test::run_on(target.device, prepared, {in, out, workspace.data()}, buffers);
    for (const GuardedBuffer* buffer : buffers) CHECK(buffer->intact());
}

constexpr std::int64_t kElements = 12000;

std::vector<double> drawn(std::uint64_t stream, double low, double high) {
    RandomStream random(7, RandomPurpose::kSample, stream);
    std::vector<double> values;
    for (std::int64_t i = 0; i < kElements; ++i)
        values.push_back(low + (high - low) * static_cast<double>(random.uniform()));
    return values;
}

struct Regions {
    DType master_type, narrow_type;
    bool has_narrow;
};

// Values of every region after one update.
std::vector<std::vector<double>> updated(const OpType& op, const Attributes& attributes,
                                         const Regions& regions, const StepControl& control,
                                         const Target& target) {
    const bool two = op.must_alias.size() == 5;
    const UpdateSlots slots = two ? kTwoMoments : kOneMoment;
    Signature s;
    s.op = &op;
    s.attributes = attributes;
    const TensorType wide{Shape{kElements}, DType::f32};
    s.inputs = {{Shape{kElements}, regions.master_type}, wide, wide};
    if (two) s.inputs.push_back(wide);
    s.inputs.push_back(regions.has_narrow ? TensorType{Shape{kElements}, regions.narrow_type} : TensorType{});
    s.inputs.push_back(control_type());
    s.present.assign(s.inputs.size(), true);
    s.present[static_cast<std::size_t>(slots.narrow)] = regions.has_narrow;
    s.outputs = op.infer(attributes, s.inputs);
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    std::vector<GuardedBuffer*> all;
    std::vector<void*> in;
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
        buffers.push_back(std::make_unique<GuardedBuffer>(static_cast<std::size_t>(s.inputs[i].bytes())));
        // Second moments are not negative.
        if (i + 1 < s.inputs.size() && s.present[i])
            buffers.back()->write(s.inputs[i].dtype,
                                  drawn(i, static_cast<int>(i) == slots.moment2 ? 0 : -1, 1));
        in.push_back(s.present[i] ? buffers.back()->data() : nullptr);
        all.push_back(buffers.back().get());
    }
    std::memcpy(buffers.back()->data(), &control, sizeof control);
    run_in_place(target, s, in, all);
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i + 1 < s.inputs.size(); ++i)
        values.push_back(s.present[i] ? buffers[i]->read(s.inputs[i]) : std::vector<double>());
    return values;
}

// Segments with a decayed and an exempt one, an odd length, and one longer than a block.
SegmentTable segments() {
    return SegmentTable({{0, 1000, true}, {1024, 33, false}, {1088, 10001, true}});
}

std::vector<std::pair<const OpType*, Attributes>> optimizers() {
    return {{&sgd_update_op, SgdUpdateAttributes{0.9, false, 1e-2, segments()}},
            {&sgd_update_op, SgdUpdateAttributes{0.9, true, 1e-2, segments()}},
            {&adam_update_op, AdamUpdateAttributes{0.9, 0.999, 1e-8, 1e-2, false, segments()}},
            {&adam_update_op, AdamUpdateAttributes{0.9, 0.999, 1e-8, 1e-2, true, segments()}},
            {&lars_update_op, LarsUpdateAttributes{0.9, 1e-4, 0.001, 0, segments()}},
            {&lamb_update_op, LambUpdateAttributes{0.9, 0.999, 1e-6, 1e-2, segments()}}};
}

StepControl control_of(bool skip) {
    StepControl control;
    control.learning_rate = 0.05;
    control.applied = 3;
    control.gradient_factor = 0.25f;
    control.skip = skip ? 1 : 0;
    return control;
}

// The worst difference of a region's elements that belong to a segment.
double worst_difference(const std::vector<double>& got, const std::vector<double>& expected) {
    double worst = 0;
    if (got.empty()) return worst;
    const SegmentTable table = segments();
    for (const Segment& segment : table.all())
        for (std::int64_t i = segment.offset; i < segment.offset + segment.elements; ++i) {
            const double a = got[static_cast<std::size_t>(i)], b = expected[static_cast<std::size_t>(i)];
            const double error = std::abs(a - b) / (0.05 + std::abs(b));
            if (!(error <= worst)) worst = error;
        }
    return worst;
}

// Of narrow regions one step between neighbours, where f32 rounding decides.
double allowed_difference(DType dtype) {
    return dtype == DType::f16 ? 2e-3 : dtype == DType::bf16 ? 8e-3 : 4e-6;
}

void check_updates(const Target& target) {
    for (const auto& [op, attributes] : optimizers())
        for (const Regions& regions :
             {Regions{DType::f32, DType::f16, true}, Regions{DType::f32, DType::bf16, true},
              Regions{DType::f32, DType::f16, false}, Regions{DType::f16, DType::f16, false}})
            for (const bool skip : {false, true}) {
                INFO(op->name << ' ' << attributes.text() << ' ' << name_of(regions.master_type)
                              << (regions.has_narrow ? name_of(regions.narrow_type) : "")
                              << (skip ? " skip" : ""));
                const auto got = updated(*op, attributes, regions, control_of(skip), target);
                const auto expected = updated(*op, attributes, regions, control_of(skip), references());
                for (std::size_t r = 0; r < got.size(); ++r) {
                    INFO("region " << r);
                    const bool is_narrow_copy = r + 1 == got.size();
                    const DType dtype = r == 0           ? regions.master_type
                                        : is_narrow_copy ? regions.narrow_type
                                                         : DType::f32;
                    CHECK(worst_difference(got[r], expected[r]) < allowed_difference(dtype));
                }
            }
}

StepControl checked_on(const Target& target, DType dtype, const std::vector<double>& gradient) {
    Signature s;
    s.op = &gradient_check_op;
    s.inputs = {{Shape{static_cast<std::int64_t>(gradient.size())}, dtype}, control_type()};
    s.present = {true, true};
    s.outputs = {control_type()};
    GuardedBuffer values(static_cast<std::size_t>(s.inputs[0].bytes())), control(sizeof(StepControl));
    values.write(dtype, gradient);
    StepControl before;
    before.loss_scale = 8;
    std::memcpy(control.data(), &before, sizeof before);
    run_in_place(target, s, {values.data(), control.data()}, {&values, &control});
    StepControl after;
    std::memcpy(&after, control.data(), sizeof after);
    return after;
}

// One bad element is found anywhere, and none among the largest.
void check_gradient_check(const Target& target) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> bads = {infinity, -infinity, std::nan(""), -std::nan("")};
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const std::size_t length : {1u, 7u, 8u, 9u, 31u, 1023u, 1024u, 1025u, 65537u}) {
            const double largest = static_cast<double>(largest_finite(dtype));
            std::vector<double> values(length, largest);
            for (std::size_t i = 1; i < length; i += 2) values[i] = -largest;
            CHECK(checked_on(target, dtype, values).found_nonfinite == 0);
            for (const std::size_t place : {std::size_t{0}, length / 2, length - 1})
                for (const double bad : bads) {
                    std::vector<double> spoilt(length, 1.0);
                    spoilt[place] = bad;
                    CHECK(checked_on(target, dtype, spoilt).found_nonfinite == 1);
                }
        }
    const StepControl norm = checked_on(target, DType::f32, std::vector<double>(3000, 2.0));
    CHECK(norm.gradient_norm == Approx(std::sqrt(3000.0) * 2 / 8).epsilon(1e-12));
}

// The average after one update, from the same random state.
std::vector<double> averaged(const Target& target, DType master_type, const StepControl& control) {
    Signature s;
    s.op = &ema_update_op;
    s.attributes = EmaUpdateAttributes{0.99};
    s.inputs = {{Shape{kElements}, DType::f32}, {Shape{kElements}, master_type}, control_type()};
    s.present = {true, true, true};
    s.outputs = {s.inputs[0]};
    GuardedBuffer average(static_cast<std::size_t>(s.inputs[0].bytes())),
        master(static_cast<std::size_t>(s.inputs[1].bytes())), block(sizeof control);
    average.write(DType::f32, drawn(0, -1, 1));
    master.write(master_type, drawn(1, -1, 1));
    std::memcpy(block.data(), &control, sizeof control);
    run_in_place(target, s, {average.data(), master.data(), block.data()}, {&average, &master, &block});
    return average.read(s.inputs[0]);
}

void check_averages(const Target& target) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const std::int64_t applied : {1, 3, 100000})
            for (const bool skip : {false, true}) {
                INFO(name_of(dtype) << " after " << applied << (skip ? ", skipped" : ""));
                StepControl control = control_of(skip);
                control.applied = applied;
                const auto got = averaged(target, dtype, control);
                const auto expected = averaged(references(), dtype, control);
                double worst = 0;
                for (std::size_t i = 0; i < got.size(); ++i)
                    if (const double error = std::abs(got[i] - expected[i]); !(error <= worst)) worst = error;
                CHECK(worst <= (skip ? 0.0 : 2e-7));
            }
}

// Attempt after attempt by the op, each beside the rule on the CPU; rates and factors within rounding.
void check_decisions(const Target& target) {
    StepRule rule;
    rule.loss_scale = loss_scale::preset_default();
    rule.loss_scale.growth_interval = 4;
    rule.schedule.type = ScheduleSpec::Type::kCosine;
    rule.schedule.warmup = 5;
    rule.schedule.length = 40;
    rule.clip_norm = 1;
    rule.max_nonfinite = 6;
    Signature s;
    s.op = &step_decision_op;
    s.attributes = StepDecisionAttributes{rule};
    s.inputs = {control_type()};
    s.present = {true};
    s.outputs = {control_type()};
    StepControl control = initial_control(rule);
    for (int attempt = 0; attempt < 120; ++attempt) {
        INFO("attempt " << attempt);
        // Now and then an overflow, and from the eightieth on nothing else, until the scale is at its floor.
        control.found_nonfinite = attempt % 7 == 3 || attempt >= 80 ? 1 : 0;
        control.gradient_norm = 0.3 * (attempt % 9);
        GuardedBuffer block(sizeof control);
        std::memcpy(block.data(), &control, sizeof control);
        run_in_place(target, s, {block.data()}, {&block});
        StepControl got;
        std::memcpy(&got, block.data(), sizeof got);
        const StepControl expected = decide_step(rule, control);
        CHECK(got.learning_rate == Approx(expected.learning_rate).epsilon(1e-12));
        CHECK(got.clip_factor == Approx(expected.clip_factor).epsilon(1e-6));
        CHECK(got.gradient_factor == Approx(expected.gradient_factor).epsilon(1e-6));
        got.learning_rate = expected.learning_rate;
        got.clip_factor = expected.clip_factor;
        got.gradient_factor = expected.gradient_factor;
        CHECK(got == expected);
        control = expected;
    }
    CHECK(control.stop != StopReason::kRunning);
}

}  // namespace

TEST_CASE("updates on the host twin agree with their references") {
    gpu::HostTwin twin;
    check_updates({cuda_host_kernels(), &twin});
}

TEST_CASE("gradient_check on the host twin finds one bad element anywhere, and none among the largest") {
    gpu::HostTwin twin;
    check_gradient_check({cuda_host_kernels(), &twin});
}

TEST_CASE("averages of weights on the host twin agree with their reference") {
    gpu::HostTwin twin;
    check_averages({cuda_host_kernels(), &twin});
}

TEST_CASE("step_decision on the host twin is its rule") {
    gpu::HostTwin twin;
    check_decisions({cuda_host_kernels(), &twin});
}

// scripts/check_gpu.sh asks for it; elsewhere there is nothing to say.
TEST_CASE("updates, gradient_check, averages and step_decision agree with their references on a GPU",
          "[gpu]") {
    if (std::getenv("MPT_TEST_GPU") == nullptr) return;
    const std::unique_ptr<gpu::Device> device = gpu::open_device(0);
    const Target target = {cuda_kernels(), device.get()};
    check_updates(target);
    check_gradient_check(target);
    check_averages(target);
    check_decisions(target);
}

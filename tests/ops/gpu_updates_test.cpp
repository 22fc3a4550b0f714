// Updates on the host twin against their f64 references, from the same random state: values within f32
// rounding, gradients left zero, skipped updates that change nothing else; and gradient_check on the buffers
// of H05.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cuda/host_twin/host_twin.h"
#include "core/philox.h"
#include "graph/gpu_kernels.h"
#include "ops/adam_update/adam_update.h"
#include "ops/gradient_check/gradient_check.h"
#include "ops/lamb_update/lamb_update.h"
#include "ops/lars_update/lars_update.h"
#include "ops/sgd_update/sgd_update.h"
#include "support/guarded_buffer.h"

using namespace mpt;
using test::GuardedBuffer;

namespace {

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
                                         const KernelTable& table, gpu::Device* device) {
    const bool two = op.must_alias.size() == 5;
    const UpdateSlots slots = two ? kTwoMoments : kOneMoment;
    Signature s;
    s.op = &op;
    s.attributes = attributes;
    const gpu::DeviceScope scope(device);
    const TensorType wide{Shape{kElements}, DType::f32};
    s.inputs = {{Shape{kElements}, regions.master_type}, wide, wide};
    if (two) s.inputs.push_back(wide);
    s.inputs.push_back(regions.has_narrow ? TensorType{Shape{kElements}, regions.narrow_type} : TensorType{});
    s.inputs.push_back(control_type());
    s.present.assign(s.inputs.size(), true);
    s.present[static_cast<std::size_t>(slots.narrow)] = regions.has_narrow;
    s.outputs = op.infer(attributes, s.inputs);
    std::vector<std::unique_ptr<GuardedBuffer>> buffers;
    std::vector<void*> in, out;
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
        buffers.push_back(std::make_unique<GuardedBuffer>(static_cast<std::size_t>(s.inputs[i].bytes())));
        // Second moments are not negative.
        if (i + 1 < s.inputs.size() && s.present[i])
            buffers.back()->write(s.inputs[i].dtype,
                                  drawn(i, static_cast<int>(i) == slots.moment2 ? 0 : -1, 1));
        in.push_back(s.present[i] ? buffers.back()->data() : nullptr);
    }
    std::memcpy(buffers.back()->data(), &control, sizeof control);
    for (std::size_t o = 0; o < s.outputs.size(); ++o) out.push_back(in[o]);
    const Kernel* kernel = choose_kernel(table, s, nullptr);
    REQUIRE(kernel != nullptr);
    const PreparedKernel prepared = kernel->prepare(s);
    GuardedBuffer workspace(prepared.workspace_bytes);
    prepared.run({in, out, workspace.data()});
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i + 1 < s.inputs.size(); ++i) {
        CHECK(buffers[i]->intact());
        values.push_back(s.present[i] ? buffers[i]->read(s.inputs[i]) : std::vector<double>());
    }
    CHECK(workspace.intact());
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

}  // namespace

TEST_CASE("updates on the host twin agree with their references") {
    gpu::HostTwin twin;
    const SegmentTable table = segments();
    for (const auto& [op, attributes] : optimizers())
        for (const Regions& regions :
             {Regions{DType::f32, DType::f16, true}, Regions{DType::f32, DType::bf16, true},
              Regions{DType::f32, DType::f16, false}, Regions{DType::f16, DType::f16, false}})
            for (const bool skip : {false, true}) {
                INFO(op->name << ' ' << attributes.text() << ' ' << name_of(regions.master_type)
                              << (regions.has_narrow ? name_of(regions.narrow_type) : "")
                              << (skip ? " skip" : ""));
                const auto got =
                    updated(*op, attributes, regions, control_of(skip), cuda_host_kernels(), &twin);
                const auto expected =
                    updated(*op, attributes, regions, control_of(skip), reference_kernels(), nullptr);
                double worst = 0;
                for (std::size_t r = 0; r < got.size(); ++r)
                    for (const Segment& segment : table.all())
                        for (std::int64_t i = segment.offset;
                             !got[r].empty() && i < segment.offset + segment.elements; ++i) {
                            const double a = got[r][static_cast<std::size_t>(i)];
                            const double b = expected[r][static_cast<std::size_t>(i)];
                            worst = std::max(worst, std::abs(a - b) / (0.05 + std::abs(b)));
                        }
                // Of f16 regions one step between neighbours, where f32 rounding decides.
                CHECK(worst < (is_narrow(regions.master_type) ? 2e-3 : regions.has_narrow ? 8e-3 : 4e-6));
                if (!regions.has_narrow && regions.master_type == DType::f32) CHECK(worst < 4e-6);
            }
}

namespace {

StepControl checked_on(gpu::Device& device, DType dtype, const std::vector<double>& gradient) {
    Signature s;
    s.op = &gradient_check_op;
    const gpu::DeviceScope scope(&device);
    s.inputs = {{Shape{static_cast<std::int64_t>(gradient.size())}, dtype}, control_type()};
    s.present = {true, true};
    s.outputs = {control_type()};
    GuardedBuffer values(static_cast<std::size_t>(s.inputs[0].bytes())), control(sizeof(StepControl));
    values.write(dtype, gradient);
    StepControl before;
    before.loss_scale = 8;
    std::memcpy(control.data(), &before, sizeof before);
    const PreparedKernel kernel = choose_kernel(cuda_host_kernels(), s, nullptr)->prepare(s);
    GuardedBuffer workspace(kernel.workspace_bytes);
    std::vector<void*> in = {values.data(), control.data()}, out = {control.data()};
    kernel.run({in, out, workspace.data()});
    CHECK((values.intact() && control.intact() && workspace.intact()));
    StepControl after;
    std::memcpy(&after, control.data(), sizeof after);
    return after;
}

}  // namespace

TEST_CASE("gradient_check on the host twin finds one bad element anywhere, and none among the largest") {
    gpu::HostTwin twin;
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> bads = {infinity, -infinity, std::nan(""), -std::nan("")};
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const std::size_t length : {1u, 7u, 8u, 9u, 31u, 1023u, 1024u, 1025u, 65537u}) {
            const double largest = static_cast<double>(largest_finite(dtype));
            std::vector<double> values(length, largest);
            for (std::size_t i = 1; i < length; i += 2) values[i] = -largest;
            CHECK(checked_on(twin, dtype, values).found_nonfinite == 0);
            for (const std::size_t place : {std::size_t{0}, length / 2, length - 1})
                for (const double bad : bads) {
                    std::vector<double> spoilt(length, 1.0);
                    spoilt[place] = bad;
                    CHECK(checked_on(twin, dtype, spoilt).found_nonfinite == 1);
                }
        }
    const StepControl norm = checked_on(twin, DType::f32, std::vector<double>(3000, 2.0));
    CHECK(norm.gradient_norm == Approx(std::sqrt(3000.0) * 2 / 8).epsilon(1e-12));
}

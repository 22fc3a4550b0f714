// The optimizer ops against PyTorch's values, closed forms, and their f64 references.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/float_formats.h"
#include "core/philox.h"
#include "ops/adam_update/adam_update.h"
#include "ops/lamb_update/lamb_update.h"
#include "ops/lars_update/lars_update.h"
#include "ops/sgd_update/sgd_update.h"
#include "support/golden.h"
#include "support/op_run.h"

namespace mpt {

namespace {

using test::Buffer;
using test::Kernels;

// The regions of one optimizer with room behind the last segment.
struct State {
    Buffer master, gradient, moment1, moment2, narrow, control;

    State(std::int64_t elements, DType master_dtype, DType narrow_dtype)
        : master(master_dtype, elements),
          gradient(DType::f32, elements),
          moment1(DType::f32, elements),
          moment2(DType::f32, elements),
          narrow(narrow_dtype, elements),
          control(DType::u8, static_cast<std::int64_t>(sizeof(StepControl))) {}

    void set_control(const StepControl& c) { std::memcpy(control.bytes.data(), &c, sizeof c); }
    void step(const OpType& op, const Attributes& attributes, Kernels kernels, int num_threads) {
        const bool two = op.must_alias.size() == 5;
        std::vector<Buffer*> inputs = {&master, &gradient, &moment1};
        if (two) inputs.push_back(&moment2);
        inputs.push_back(&narrow);
        inputs.push_back(&control);
        test::run_in_place(op, attributes, inputs, kernels, num_threads);
    }
};

StepControl control_of(double lr, std::int64_t applied, float gradient_factor = 1) {
    StepControl control;
    control.learning_rate = lr;
    control.applied = applied;
    control.gradient_factor = gradient_factor;
    return control;
}

// Op and attributes of a case of the golden file.
std::pair<const OpType*, Attributes> optimizer_of(const nlohmann::json& c, const SegmentTable& segments) {
    const auto& hyper = c.at("hyper");
    if (c.at("optimizer") == "sgd")
        return {&sgd_update_op,
                SgdUpdateAttributes{hyper.value("momentum", 0.0), hyper.value("nesterov", false),
                                    hyper.value("weight_decay", 0.0), segments}};
    return {&adam_update_op,
            AdamUpdateAttributes{hyper.value("beta1", 0.9), hyper.value("beta2", 0.999),
                                 hyper.value("epsilon", 1e-8), hyper.value("weight_decay", 0.0),
                                 c.at("optimizer") == "adamw", segments}};
}

float random_value(RandomStream& random) {
    return random.normal();
}

// Every optimizer with decay, momentum and two kinds of segments; 17 gaps of padding between them.
const SegmentTable kSegments({{0, 5000, true}, {5024, 47, false}, {5088, 1, true}, {5120, 2081, true}});
constexpr std::int64_t kElements = 7232;

std::vector<std::pair<const OpType*, Attributes>> all_optimizers(const SegmentTable& segments) {
    return {{&sgd_update_op, SgdUpdateAttributes{0.9, false, 0.01, segments}},
            {&sgd_update_op, SgdUpdateAttributes{0.9, true, 0.01, segments}},
            {&adam_update_op, AdamUpdateAttributes{0.9, 0.99, 1e-8, 0.01, false, segments}},
            {&adam_update_op, AdamUpdateAttributes{0.9, 0.99, 0, 0.01, true, segments}},
            {&lars_update_op, LarsUpdateAttributes{0.9, 0.01, 0.02, 0, segments}},
            {&lamb_update_op, LambUpdateAttributes{0.9, 0.99, 1e-6, 0.01, segments}}};
}

void fill(State& state, const SegmentTable& segments, std::uint64_t seed) {
    RandomStream random(seed, RandomPurpose::kSample, 1);
    for (const Segment& segment : segments.all())
        for (std::int64_t i = segment.offset; i < segment.offset + segment.elements; ++i) {
            const float w = random_value(random);
            if (state.master.type.dtype == DType::f32) state.master.as<float>()[i] = w;
            if (state.master.type.dtype == DType::f16) state.master.as<f16>()[i] = f16(w);
            if (state.master.type.dtype == DType::bf16) state.master.as<bf16>()[i] = bf16(w);
            state.gradient.as<float>()[i] = random_value(random) * 128;
        }
}

float as_f32(Buffer& buffer, std::int64_t i) {
    if (buffer.type.dtype == DType::f32) return buffer.as<float>()[i];
    return buffer.type.dtype == DType::f16 ? f16_value(buffer.as<f16>()[i].bits)
                                           : bf16_value(buffer.as<bf16>()[i].bits);
}

bool all_zero(const Buffer& buffer, std::int64_t from, std::int64_t to) {
    const std::size_t size = size_of(buffer.type.dtype);
    for (std::size_t b = static_cast<std::size_t>(from) * size; b < static_cast<std::size_t>(to) * size; ++b)
        if (buffer.bytes[b] != std::byte{0}) return false;
    return true;
}

}  // namespace

TEST_CASE("sgd, adam and adamw follow PyTorch's weights over ten steps") {
    const nlohmann::json file = test::golden("torch_optimizers").at("optimizers");
    const auto start = file.at("start").get<std::vector<float>>();
    const auto elements = static_cast<std::int64_t>(start.size());
    REQUIRE(file.at("cases").size() == 9);
    for (const auto& c : file.at("cases"))
        for (const Kernels kernels : {Kernels::kFast, Kernels::kReference}) {
            CAPTURE(c.at("optimizer"), c.at("hyper").dump());
            const auto [op, attributes] = optimizer_of(c, SegmentTable({{0, elements, true}}));
            State state(elements, DType::f32, DType::f16);
            std::memcpy(state.master.bytes.data(), start.data(), state.master.bytes.size());
            std::int64_t applied = 0;
            for (const auto& weights : c.at("weights")) {
                const auto gradient =
                    file.at("gradients").at(static_cast<std::size_t>(applied)).get<std::vector<float>>();
                for (std::size_t i = 0; i < gradient.size(); ++i)
                    state.gradient.as<float>()[i] = gradient[i] * 1024;
                state.set_control(control_of(c.at("lr"), ++applied, 1.0f / 1024));
                state.step(*op, attributes, kernels, 1);
                for (std::int64_t i = 0; i < elements; ++i)
                    REQUIRE(state.master.as<float>()[i] ==
                            Approx(weights.at(static_cast<std::size_t>(i)).get<double>())
                                .epsilon(2e-6)
                                .margin(2e-7));
            }
        }
}

// Reference: the reference kernel (f64 arithmetic). Five steps, three threads, every kind of master and copy.
TEST_CASE("fast updates agree with the references; padding stays zero; the gradient is left zero") {
    for (const auto& [op, attributes] : all_optimizers(kSegments))
        for (const DType master : {DType::f32, DType::f16, DType::bf16}) {
            State fast(kElements, master, DType::f16), slow(kElements, master, DType::f16);
            if (master == DType::bf16) fast.narrow = slow.narrow = Buffer(DType::bf16, kElements);
            CAPTURE(std::string(op->name), attributes.text(), std::string(name_of(master)));
            // A narrow master differs by one rounding now and then: two steps of its grid.
            const double tolerance = master == DType::f32 ? 1e-5 : master == DType::f16 ? 0x1p-9 : 0x1p-6;
            fill(fast, kSegments, 3);
            fill(slow, kSegments, 3);
            for (int t = 1; t <= 5; ++t) {
                fast.set_control(control_of(0.01, t, 1.0f / 128));
                slow.set_control(control_of(0.01, t, 1.0f / 128));
                fast.step(*op, attributes, Kernels::kFast, 3);
                slow.step(*op, attributes, Kernels::kReference, 1);
                REQUIRE(all_zero(fast.gradient, 0, kElements));
                for (std::int64_t i = 0; i < kElements; ++i) {
                    const double expected = static_cast<double>(as_f32(slow.master, i));
                    REQUIRE(static_cast<double>(as_f32(fast.master, i)) ==
                            Approx(expected).epsilon(tolerance).margin(tolerance));
                }
                for (std::int64_t i = 0; i < kElements; ++i)
                    fast.gradient.as<float>()[i] = slow.gradient.as<float>()[i] =
                        all_zero(fast.master, i, i + 1) ? 0 : static_cast<float>(i % 7) - 3.0f;
            }
            for (const auto& [from, to] : {std::pair{5000, 5024}, {5071, 5088}, {5089, 5120}, {7201, 7232}})
                for (Buffer* buffer : {&fast.master, &fast.moment1, &fast.moment2, &fast.narrow})
                    CHECK(all_zero(*buffer, from, to));
        }
}

TEST_CASE("updates do not depend on the number of threads") {
    for (const auto& [op, attributes] : all_optimizers(kSegments)) {
        State one(kElements, DType::f32, DType::bf16), five(kElements, DType::f32, DType::bf16);
        for (State* state : {&one, &five}) {
            fill(*state, kSegments, 4);
            state->set_control(control_of(0.1, 1, 1.0f / 128));
            state->step(*op, attributes, Kernels::kFast, state == &one ? 1 : 5);
        }
        CHECK(one.master.bytes == five.master.bytes);
        CHECK(one.narrow.bytes == five.narrow.bytes);
        CHECK(one.moment1.bytes == five.moment1.bytes);
    }
}

// The definition of rounding is core/float_formats.h.
TEST_CASE("the narrow copy is the new master rounded to nearest even") {
    for (const DType narrow : {DType::f16, DType::bf16}) {
        State state(kElements, DType::f32, narrow);
        fill(state, kSegments, 5);
        state.master.as<float>()[0] = 1e6f;   // beyond f16
        state.master.as<float>()[1] = 3e-7f;  // subnormal in f16
        state.set_control(control_of(0.01, 1, 1.0f / 128));
        state.step(sgd_update_op, SgdUpdateAttributes{0.9, false, 0, kSegments}, Kernels::kFast, 2);
        for (std::int64_t i = 0; i < kElements; ++i) {
            const float w = state.master.as<float>()[i];
            REQUIRE(state.narrow.as<std::uint16_t>()[i] ==
                    (narrow == DType::f16 ? f16_bits(w) : bf16_bits(w)));
        }
    }
}

TEST_CASE("a skipped update zeroes the gradient and changes nothing else") {
    for (const auto& [op, attributes] : all_optimizers(kSegments))
        for (const Kernels kernels : {Kernels::kFast, Kernels::kReference}) {
            State state(kElements, DType::f32, DType::f16);
            fill(state, kSegments, 6);
            state.gradient.as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
            for (std::int64_t i = 0; i < kElements; ++i) state.moment1.as<float>()[i] = 0.5f;
            State before = state;
            StepControl control = control_of(0.1, 3);
            control.skip = 1;
            state.set_control(control);
            state.step(*op, attributes, kernels, 2);
            CHECK(state.master.bytes == before.master.bytes);
            CHECK(state.moment1.bytes == before.moment1.bytes);
            CHECK(state.moment2.bytes == before.moment2.bytes);
            CHECK(state.narrow.bytes == before.narrow.bytes);
            CHECK(all_zero(state.gradient, 0, kElements));
        }
}

// H07 (rows of unused words) and H11 (exempt tensors): gradients are zero.
TEST_CASE("with zero gradients only decayed tensors shrink, and none without decay") {
    for (const auto& [op, attributes] : all_optimizers(kSegments)) {
        State state(kElements, DType::f32, DType::f16);
        fill(state, kSegments, 7);
        std::ranges::fill(state.gradient.bytes, std::byte{0});
        const State before = state;
        for (int t = 1; t <= 20; ++t) {
            state.set_control(control_of(0.1, t, 1.0f / 65536));
            state.step(*op, attributes, Kernels::kFast, 2);
        }
        const std::size_t from = 5024 * sizeof(float), bytes = 47 * sizeof(float);
        CHECK(std::memcmp(state.master.bytes.data() + from, before.master.bytes.data() + from, bytes) == 0);
        CHECK(std::abs(state.master.as<float>()[0]) < std::abs(as_f32(const_cast<State&>(before).master, 0)));
    }
    const SegmentTable whole({{0, kElements, true}});
    State state(kElements, DType::f32, DType::f16);
    fill(state, kSegments, 8);
    std::ranges::fill(state.gradient.bytes, std::byte{0});
    const State before = state;
    for (int t = 1; t <= 20; ++t) {
        state.set_control(control_of(0.1, t, 1.0f / 65536));
        state.step(adam_update_op, AdamUpdateAttributes{0.9, 0.999, 1e-8, 0, false, whole}, Kernels::kFast,
                   2);
    }
    CHECK(state.master.bytes == before.master.bytes);
}

// H10: why masters are f32. Adam's first steps are lr * sign(g): 100 steps of 1e-4 move a gain of 1.0 by
// 0.01.
TEST_CASE("gains move by small updates with an f32 master and stand still with a narrow one") {
    const SegmentTable segments({{0, 32, true}});
    for (const DType master : {DType::f32, DType::f16, DType::bf16}) {
        State state(32, master, master == DType::f32 ? DType::bf16 : master);
        for (std::int64_t i = 0; i < 32; ++i)
            if (master == DType::f32)
                state.master.as<float>()[i] = 1;
            else
                state.master.as<std::uint16_t>()[i] = master == DType::f16 ? f16_bits(1) : bf16_bits(1);
        for (int t = 1; t <= 100; ++t) {
            for (std::int64_t i = 0; i < 32; ++i)
                state.gradient.as<float>()[i] = -1;  // upward: the wider grid
            state.set_control(control_of(1e-4, t));
            state.step(adam_update_op, AdamUpdateAttributes{0.9, 0.999, 1e-8, 0, false, segments},
                       Kernels::kFast, 1);
        }
        for (std::int64_t i = 0; i < 32; ++i)
            CHECK(as_f32(state.master, i) == Approx(master == DType::f32 ? 1.01 : 1.0).epsilon(1e-5));
    }
}

// H01, H06, H36: absurd learning rates may ruin weights, but what a checkpoint would hold stays finite.
TEST_CASE("masters and moments stay finite whatever the rate") {
    for (const auto& [op, attributes] : all_optimizers(kSegments))
        for (const DType master : {DType::f32, DType::f16, DType::bf16})
            for (const double lr : {0.0, 1e20, 1e30, 1e60})
                for (const Kernels kernels : {Kernels::kFast, Kernels::kReference}) {
                    State state(kElements, master, DType::f16);
                    CAPTURE(std::string(op->name), attributes.text(), std::string(name_of(master)), lr);
                    for (int t = 1; t <= 4; ++t) {
                        if (t == 1) fill(state, kSegments, 10);
                        state.gradient.as<float>()[4] = 3e38f;
                        state.gradient.as<float>()[5] = -3e38f;
                        state.gradient.as<float>()[5030] = 3e38f;
                        state.set_control(control_of(lr, t, t == 3 ? 1e10f : 1.0f));
                        state.step(*op, attributes, kernels, 2);
                    }
                    bool finite = true;
                    for (std::int64_t i = 0; i < kElements; ++i)
                        finite = finite && std::isfinite(as_f32(state.master, i)) &&
                                 std::isfinite(state.moment1.as<float>()[i]) &&
                                 std::isfinite(state.moment2.as<float>()[i]);
                    CHECK(finite);
                }
}

TEST_CASE("an absent narrow copy and absent momentum are fine") {
    const SegmentTable segments({{0, 40, true}});
    State state(64, DType::f32, DType::f16);
    fill(state, segments, 9);
    const float w = state.master.as<float>()[5], g = state.gradient.as<float>()[5];
    state.moment1 = state.narrow = Buffer();
    state.set_control(control_of(0.5, 1, 0.25f));
    state.step(sgd_update_op, SgdUpdateAttributes{0, false, 0, segments}, Kernels::kFast, 2);
    CHECK(state.master.as<float>()[5] == Approx(w - 0.5 * 0.25 * static_cast<double>(g)));
    State momentum(64, DType::f32, DType::f16);
    momentum.moment1 = Buffer();
    CHECK_THROWS_AS(
        momentum.step(sgd_update_op, SgdUpdateAttributes{0.9, false, 0, segments}, Kernels::kFast, 1),
        InternalError);
}

}  // namespace mpt

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "ops/step_decision/step_decision.h"
#include "optim/step_rule.h"
#include "support/golden.h"
#include "support/op_run.h"

namespace mpt {

namespace {

StepControl attempt(const StepRule& rule, StepControl control, bool finite, double norm = 1) {
    control.found_nonfinite = finite ? 0 : 1;
    control.gradient_norm = norm;
    return decide_step(rule, control);
}

// A device that overflows exactly above this scale.
std::vector<StepControl> run(const StepRule& rule, StepControl control, int attempts, float limit) {
    std::vector<StepControl> rows;
    for (int i = 0; i < attempts; ++i) {
        control = attempt(rule, control, control.loss_scale <= limit);
        rows.push_back(control);
    }
    return rows;
}

}  // namespace

// H02: init 2^32, interval 20, factor 2, back-off 0.5, 200 attempts.
TEST_CASE("each overflow halves the next scale, which doubles after exactly 20 applied updates") {
    StepRule rule;
    rule.loss_scale = loss_scale::preset_pytorch();
    rule.loss_scale.init = 0x1p32;
    rule.loss_scale.growth_interval = 20;
    const std::vector<StepControl> rows = run(rule, initial_control(rule), 200, 0x1p15f);
    int clean = 0;
    float expected = 0x1p32f;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].used_loss_scale == expected);
        CHECK(rows[i].skip == (expected > 0x1p15f ? 1 : 0));
        clean = rows[i].skip != 0 ? 0 : clean + 1;
        if (rows[i].skip != 0) expected /= 2;
        if (clean == 20) {
            expected *= 2;
            clean = 0;
        }
        CHECK(rows[i].loss_scale == expected);
        CHECK(rows[i].growth_counter == clean);
        CHECK(rows[i].attempted == static_cast<std::int64_t>(i) + 1);
        CHECK(rows[i].attempted == rows[i].applied + rows[i].skipped);
        CHECK(rows[i].stop == StopReason::kRunning);
    }
    CHECK(rows.back().skipped > 17);
}

// H03: interval 25, 120 updates against 60, a copy through bytes, 60 more.
TEST_CASE("the control block carries everything a resumed run needs") {
    StepRule rule;
    rule.loss_scale = loss_scale::preset_deepspeed();
    rule.loss_scale.growth_interval = 25;
    rule.schedule.type = ScheduleSpec::Type::kCosine;
    rule.schedule.length = 100;
    const auto straight = run(rule, initial_control(rule), 120, 0x1p14f);
    const auto first = run(rule, initial_control(rule), 60, 0x1p14f);
    unsigned char saved[sizeof(StepControl)];
    std::memcpy(saved, &first.back(), sizeof saved);
    StepControl restored;
    std::memcpy(&restored, saved, sizeof saved);
    CHECK(restored.growth_counter != 0);
    const auto second = run(rule, restored, 60, 0x1p14f);
    for (std::size_t i = 0; i < 60; ++i) {
        CHECK(straight[i] == first[i]);
        CHECK(straight[60 + i] == second[i]);
    }
}

TEST_CASE("a skipped update moves no schedule and no count of applied updates") {
    StepRule rule;
    rule.loss_scale = loss_scale::preset_default();
    rule.schedule.warmup = 5;
    StepControl control = attempt(rule, initial_control(rule), true);
    CHECK(control.learning_rate == Approx(0.02));
    control = attempt(rule, control, false);
    CHECK(control.applied == 1);
    CHECK(control.skip == 1);
    CHECK(control.loss_scale == 32768);
    CHECK(control.used_loss_scale == 65536);
    control = attempt(rule, control, true);
    CHECK(control.learning_rate == Approx(0.04));
    CHECK(control.skip == 0);
    CHECK(control.applied == 2);
    CHECK(control.skipped == 1);
    CHECK(control.consecutive_nonfinite == 0);
    CHECK(control.gradient_factor == 1.0f / 32768);
}

// H06: no scaling; the count alone stops the run.
TEST_CASE("non-finite updates in a row stop a run without scaling") {
    StepRule rule;
    rule.max_nonfinite = 5;
    StepControl control = initial_control(rule);
    for (const char c : std::string("xxxx.xxxx")) {
        control = attempt(rule, control, c == '.');
        CHECK(control.stop == StopReason::kRunning);
        CHECK(control.loss_scale == 1);
    }
    control = attempt(rule, control, false);
    CHECK(control.stop == StopReason::kNonFinite);
    CHECK(control.consecutive_nonfinite == 5);
    CHECK(control.skipped == 9);
    // After the stop nothing moves, however late the host looks.
    StepControl later = attempt(rule, control, true);
    CHECK(later.skip == 1);
    CHECK(later.attempted == control.attempted);
    CHECK(later.applied == control.applied);
    rule.max_nonfinite = 0;
    CHECK(run(rule, initial_control(rule), 100, 0).back().stop == StopReason::kRunning);
}

TEST_CASE("dynamic scaling: when a hopeless run stops") {
    StepRule rule;
    const auto attempts_until_stop = [&](const LossScaleSpec& spec, StopReason reason) {
        rule.loss_scale = spec;
        StepControl control = initial_control(rule);
        while (control.stop == StopReason::kRunning && control.attempted < 1000)
            control = attempt(rule, control, false);
        CHECK(control.stop == reason);
        return control.attempted;
    };
    namespace p = loss_scale;
    CHECK(attempts_until_stop(p::preset_default(), StopReason::kAtFloor) == 16 + 20);
    CHECK(attempts_until_stop(p::preset_deepspeed(), StopReason::kAtFloor) == 1 + 16 + 1);
    CHECK(attempts_until_stop(p::preset_pytorch(), StopReason::kNonFinite) == 40);
    CHECK(attempts_until_stop(p::preset_megatron(), StopReason::kNonFinite) == 40);
    CHECK(attempts_until_stop(p::preset_static(1024), StopReason::kNonFinite) == 40);
    LossScaleSpec high = p::preset_pytorch();
    high.init = 0x1p100;  // more than 40 halvings until the scale is no longer to blame
    CHECK(attempts_until_stop(high, StopReason::kNonFinite) == 101);
    LossScaleSpec floored = p::preset_pytorch();
    floored.floor = 1024;
    CHECK(attempts_until_stop(floored, StopReason::kNonFinite) == 40);
}

TEST_CASE("clip factor is PyTorch's") {
    const nlohmann::json file = test::golden("torch_clipping");
    REQUIRE(file.at("clipping").size() == 12);
    for (const auto& row : file.at("clipping")) {
        StepRule rule;
        rule.clip_norm = row.at("limit");
        const StepControl control = attempt(rule, initial_control(rule), true, row.at("norm"));
        const auto gradient = row.at("gradient").get<std::vector<double>>();
        const auto clipped = row.at("clipped").get<std::vector<double>>();
        for (std::size_t i = 0; i < gradient.size(); ++i)
            CHECK(gradient[i] * static_cast<double>(control.clip_factor) ==
                  Approx(clipped[i]).epsilon(1e-6).margin(1e-12));
    }
    StepRule off;
    CHECK(attempt(off, initial_control(off), true, 1e30).clip_factor == 1);
    off.clip_norm = 1;
    CHECK(attempt(off, initial_control(off), true, 0).clip_factor == 1);
}

TEST_CASE("the op step_decision applies the rule in place") {
    StepRule rule;
    rule.loss_scale = loss_scale::preset_default();
    StepControl control = initial_control(rule);
    control.found_nonfinite = 1;
    test::Buffer buffer(DType::u8, static_cast<std::int64_t>(sizeof control));
    std::memcpy(buffer.bytes.data(), &control, sizeof control);
    test::run_in_place(step_decision_op, StepDecisionAttributes{rule}, {&buffer}, test::Kernels::kFast, 2);
    StepControl after;
    std::memcpy(&after, buffer.bytes.data(), sizeof after);
    CHECK(after == decide_step(rule, control));
    CHECK(after.skip == 1);
}

}  // namespace mpt

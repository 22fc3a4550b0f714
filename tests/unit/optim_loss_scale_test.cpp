#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "optim/loss_scale.h"
#include "support/golden.h"

namespace mpt {

namespace {

// Runs `count` outcomes that are all the same.
LossScaleState repeat(const LossScaleSpec& spec, LossScaleState state, bool finite, int count) {
    for (int i = 0; i < count; ++i) state = next_loss_scale(spec, state, finite);
    return state;
}

// Scales after each letter of a pattern: '.' finite, 'x' not.
std::vector<float> trace(const LossScaleSpec& spec, const std::string& pattern) {
    LossScaleState state = initial_loss_scale(spec);
    std::vector<float> scales;
    for (const char c : pattern) {
        state = next_loss_scale(spec, state, c == '.');
        scales.push_back(state.scale);
    }
    return scales;
}

LossScaleSpec from_scale(LossScaleSpec spec, double init, std::int64_t interval) {
    spec.init = init;
    spec.growth_interval = interval;
    return spec;
}

}  // namespace

TEST_CASE("presets hold the constants of the table") {
    using S = LossScaleSpec;
    namespace p = loss_scale;
    const std::vector<std::pair<S, S>> rows = {
        {p::preset_default(),
         {true, 65536, 2, 2000, 0.5, 1, S::Refill::kGrowth, 1, 16777216, 20, S::AtFloor::kStop}},
        {p::preset_pytorch(),
         {true, 65536, 2, 2000, 0.5, 1, S::Refill::kGrowth, 0, 0, 20, S::AtFloor::kSkip}},
        {p::preset_keras(), {true, 32768, 2, 2000, 0.5, 1, S::Refill::kGrowth, 0, 0, 20, S::AtFloor::kSkip}},
        {p::preset_deepspeed(),
         {true, 65536, 2, 1000, 0.5, 2, S::Refill::kGrowth, 1, 0, 1, S::AtFloor::kStop}},
        {p::preset_megatron(),
         {true, 4294967296, 2, 1000, 0.5, 2, S::Refill::kConsecutive, 1, 0, 20, S::AtFloor::kClamp}},
        {p::preset_nvidia_rn50(128),
         {true, 128, 2, 100, 0.5, 1, S::Refill::kGrowth, 0, 0, 20, S::AtFloor::kSkip}},
    };
    for (const auto& [preset, expected] : rows) CHECK(preset == expected);
    CHECK(!p::preset_static(1024).dynamic);
    CHECK(p::preset_static(1024).init == 1024);
    CHECK(initial_loss_scale(p::preset_off()).scale == 1);
}

TEST_CASE("the rule agrees with GradScaler's") {
    const nlohmann::json file = test::golden("torch_loss_scales");
    REQUIRE(file.at("loss_scales").size() == 3);
    for (const auto& run : file.at("loss_scales")) {
        LossScaleSpec spec = loss_scale::preset_pytorch();
        spec.init = run.at("init");
        spec.growth_factor = run.at("growth");
        spec.backoff = run.at("backoff");
        spec.growth_interval = run.at("interval");
        LossScaleState state = initial_loss_scale(spec);
        for (const auto& row : run.at("rows")) {
            CHECK(state.scale == row.at("used").get<float>());
            state = next_loss_scale(spec, state, row.at("nonfinite") == 0);
            CHECK(state.scale == row.at("next").get<float>());
            CHECK(state.growth_counter == row.at("tracker").get<std::int64_t>());
        }
    }
}

TEST_CASE("growth comes after exactly the interval of clean updates, for every dynamic preset") {
    namespace p = loss_scale;
    for (const LossScaleSpec& spec :
         {p::preset_default(), p::preset_pytorch(), p::preset_keras(), p::preset_deepspeed(),
          p::preset_megatron(), p::preset_nvidia_rn50(64)}) {
        const auto interval = static_cast<int>(spec.growth_interval);
        const LossScaleState start = initial_loss_scale(spec);
        LossScaleState state = repeat(spec, start, true, interval - 1);
        CHECK(state.scale == start.scale);
        CHECK(state.growth_counter == interval - 1);
        state = next_loss_scale(spec, state, true);
        CHECK(state.scale == 2 * start.scale);
        CHECK(state.growth_counter == 0);
        CHECK(repeat(spec, state, true, interval).scale == 4 * start.scale);
        // One overflow in between starts the count anew.
        state = repeat(spec, start, true, interval - 1);
        state = next_loss_scale(spec, state, false);
        CHECK(state.growth_counter == 0);
        const float scale = state.scale;
        CHECK(repeat(spec, state, true, interval - 1).scale == scale);
        CHECK(repeat(spec, state, true, interval).scale == 2 * scale);
    }
}

TEST_CASE("default: halves to 1, stops after 20 skips in a row there, ceiling 2^24") {
    const LossScaleSpec spec = loss_scale::preset_default();
    LossScaleState state = initial_loss_scale(spec);
    for (int i = 1; i <= 16; ++i) {
        state = next_loss_scale(spec, state, false);
        CHECK(state.scale == std::ldexp(65536.0f, -i));
        CHECK(!state.stop);
        CHECK(state.skips_at_floor == 0);
    }
    for (int i = 1; i <= 19; ++i) {
        state = next_loss_scale(spec, state, false);
        CHECK(state.scale == 1);
        CHECK(state.skips_at_floor == i);
        CHECK(!state.stop);
    }
    CHECK(next_loss_scale(spec, next_loss_scale(spec, state, true), false).skips_at_floor == 1);  // in a row
    state = next_loss_scale(spec, state, false);
    CHECK(state.stop);
    CHECK(state.scale == 1);

    state = repeat(spec, initial_loss_scale(spec), true, 8 * 2000);
    CHECK(state.scale == 0x1p24f);
    CHECK(repeat(spec, state, true, 4000).scale == 0x1p24f);
}

TEST_CASE("deepspeed: hysteresis 2 is refilled at growth only; stops at the first skip at the floor") {
    const LossScaleSpec spec = from_scale(loss_scale::preset_deepspeed(), 8, 3);
    CHECK(trace(spec, "x") == std::vector<float>{8});
    CHECK(trace(spec, "xx") == std::vector<float>{8, 4});
    CHECK(trace(spec, "x.x.x") == std::vector<float>{8, 8, 4, 4, 2});  // clean updates do not refill
    CHECK(trace(spec, "x...xx") == std::vector<float>{8, 8, 8, 16, 16, 8});
    LossScaleState state = repeat(spec, initial_loss_scale(spec), false, 4);
    CHECK(state.scale == 1);
    CHECK(!state.stop);
    state = next_loss_scale(spec, state, false);
    CHECK(state.scale == 1);
    CHECK(state.stop);

    LossScaleSpec consecutive = spec;
    consecutive.refill = LossScaleSpec::Refill::kConsecutive;
    CHECK(trace(consecutive, "x.x.xx") == std::vector<float>{8, 8, 8, 8, 8, 4});
}

TEST_CASE("megatron: every clean update refills hysteresis; stays at the floor without stopping") {
    const LossScaleSpec spec = from_scale(loss_scale::preset_megatron(), 8, 4);
    CHECK(trace(spec, "x.x.xx") == std::vector<float>{8, 8, 8, 8, 8, 4});
    CHECK(trace(spec, "xxxxxxx") == std::vector<float>{8, 4, 2, 1, 1, 1, 1});
    const LossScaleState state = repeat(spec, initial_loss_scale(spec), false, 1000);
    CHECK(state.scale == 1);
    CHECK(!state.stop);
}

TEST_CASE("pytorch, keras and nvidia_rn50 halve at once and never stop") {
    namespace p = loss_scale;
    for (const LossScaleSpec& preset : {p::preset_pytorch(), p::preset_keras(), p::preset_nvidia_rn50(1)}) {
        const LossScaleSpec spec = from_scale(preset, 2, 2);
        CHECK(trace(spec, "x.x..xx") == std::vector<float>{1, 1, 0.5f, 0.5f, 1, 0.5f, 0.25f});
        CHECK(!repeat(spec, initial_loss_scale(spec), false, 500).stop);
    }
}

TEST_CASE("static and off: nothing moves") {
    for (const LossScaleSpec& spec : {loss_scale::preset_static(1024), loss_scale::preset_off()}) {
        const LossScaleState start = initial_loss_scale(spec);
        LossScaleState state = repeat(spec, start, true, 5000);
        state = repeat(spec, state, false, 100);
        CHECK(state.scale == start.scale);
        CHECK(!state.stop);
    }
}

TEST_CASE("the scale never becomes infinite, zero or denormal") {
    LossScaleSpec spec = from_scale(loss_scale::preset_pytorch(), 2, 1);
    LossScaleState state = repeat(spec, initial_loss_scale(spec), true, 1000);
    CHECK(state.scale == 0x1p127f);
    CHECK(repeat(spec, state, false, 1).scale == 0x1p126f);
    state = repeat(spec, state, false, 1000);
    CHECK(state.scale == std::numeric_limits<float>::min());
    CHECK(repeat(spec, state, true, 1).scale == 2 * std::numeric_limits<float>::min());

    spec.floor = 3;  // no power of two away from the scale: the last back-off ends on the floor
    CHECK(trace(from_scale(spec, 8, 5), "xxx") == std::vector<float>{4, 3, 3});
    spec.ceiling = 12;
    CHECK(trace(from_scale(spec, 8, 1), "...") == std::vector<float>{12, 12, 12});
    CHECK(trace(from_scale(spec, 64, 1), ".") == std::vector<float>{64});        // growth lowers nothing
    CHECK(trace(from_scale(spec, 2, 5), "x") == std::vector<float>{2});          // back-off raises nothing
    CHECK(trace(from_scale(spec, 8, 0), "......") == std::vector<float>(6, 8));  // interval 0: no growth
}

}  // namespace mpt

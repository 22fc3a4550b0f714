#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "optim/schedule.h"
#include "support/golden.h"

namespace mpt {

namespace {

using Type = ScheduleSpec::Type;

Type type_named(const std::string& name) {
    if (name == "constant") return Type::kConstant;
    if (name == "step") return Type::kStep;
    if (name == "cosine") return Type::kCosine;
    if (name == "poly") return Type::kPoly;
    return Type::kLinear;
}

ScheduleSpec spec_of(const nlohmann::json& row) {
    ScheduleSpec spec;
    spec.type = type_named(row.at("type"));
    spec.base = 0.1;
    spec.min = row.value("min", 0.0);
    spec.warmup = row.value("warmup", 0);
    spec.length = row.value("length", 0);
    spec.gamma = row.value("gamma", 0.1);
    spec.power = row.value("power", 1.0);
    for (const std::int64_t milestone : row.value("milestones", std::vector<std::int64_t>{}))
        spec.milestones[spec.num_milestones++] = milestone;
    return spec;
}

ScheduleSpec with_length(Type type, std::int64_t warmup, std::int64_t length, double min) {
    ScheduleSpec spec;
    spec.type = type;
    spec.warmup = warmup;
    spec.length = length;
    spec.min = min;
    spec.milestones[0] = 3;
    spec.num_milestones = 1;
    return spec;
}

}  // namespace

TEST_CASE("schedules agree with PyTorch's schedulers") {
    const nlohmann::json file = test::golden("torch_schedules");
    REQUIRE(file.at("schedules").size() == 7);
    for (const auto& row : file.at("schedules")) {
        const ScheduleSpec spec = spec_of(row);
        CAPTURE(row.dump());
        std::int64_t applied = 0;
        for (const double rate : row.at("rates"))
            CHECK(learning_rate(spec, applied++) == Approx(rate).epsilon(1e-12).margin(1e-15));
    }
}

// H37: base 0.1, linear warm-up of 5 updates, cosine to 0 at update 20.
TEST_CASE("warm-up of five updates, then cosine to zero at update 20") {
    const ScheduleSpec spec = with_length(Type::kCosine, 5, 20, 0);
    const double warm[] = {0.02, 0.04, 0.06, 0.08, 0.10};
    for (int i = 0; i < 5; ++i) CHECK(learning_rate(spec, i) == Approx(warm[i]).epsilon(1e-15));
    for (int i = 5; i < 20; ++i) {
        CHECK(learning_rate(spec, i) < learning_rate(spec, i - 1));
        CHECK(learning_rate(spec, i) >= 0);
    }
    CHECK(learning_rate(spec, 19) == 0);
    CHECK(learning_rate(spec, 20) == 0);
}

// The values at the middle of the decay, by hand.
TEST_CASE("closed forms of each decay after a warm-up") {
    CHECK(learning_rate(with_length(Type::kCosine, 4, 14, 0.02), 8) == Approx(0.06));
    CHECK(learning_rate(with_length(Type::kLinear, 4, 14, 0.02), 8) == Approx(0.06));
    CHECK(learning_rate(with_length(Type::kPoly, 4, 14, 0.02), 8) == Approx(0.02 + 0.08 * 0.25));
    CHECK(learning_rate(with_length(Type::kInverseSqrt, 4, 0, 0), 15) == Approx(0.1 * std::sqrt(4.0 / 16)));
    CHECK(learning_rate(with_length(Type::kInverseSqrt, 0, 0, 0), 24) == Approx(0.1 / 5));
    // A milestone counts applied updates from the start of the run, warm-up included.
    CHECK(learning_rate(with_length(Type::kStep, 2, 0, 0), 1) == Approx(0.1));
    CHECK(learning_rate(with_length(Type::kStep, 2, 0, 0), 2) == Approx(0.1));
    CHECK(learning_rate(with_length(Type::kStep, 2, 0, 0), 3) == Approx(0.01));
    CHECK(learning_rate(with_length(Type::kStep, 2, 0, 0.03), 3) == Approx(0.03));
}

TEST_CASE("every schedule stays finite, not below its minimum and not above its base") {
    const std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;
    for (const Type type :
         {Type::kConstant, Type::kStep, Type::kCosine, Type::kPoly, Type::kLinear, Type::kInverseSqrt})
        for (const std::int64_t warmup : {0, 1, 2, 5, 20, 50})
            for (const std::int64_t length : {0, 1, 2, 5, 20})
                for (const double min : {0.0, 0.001})
                    for (const std::int64_t applied : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4},
                                                       std::int64_t{19}, std::int64_t{20}, far}) {
                        const double rate = learning_rate(with_length(type, warmup, length, min), applied);
                        CAPTURE(static_cast<int>(type), warmup, length, applied);
                        REQUIRE(std::isfinite(rate));
                        REQUIRE(rate <= 0.1 * (1 + 1e-15));
                        REQUIRE(rate >= (applied < warmup ? 0 : min));
                    }
}

TEST_CASE("a warm-up longer than the run rises to its last update") {
    const ScheduleSpec spec = with_length(Type::kCosine, 50, 20, 0);
    for (int i = 0; i < 20; ++i) CHECK(learning_rate(spec, i) == Approx(0.1 * (i + 1) / 50));
    CHECK(learning_rate(with_length(Type::kCosine, 0, 1, 0), 0) == Approx(0.1));  // a run of one update
}

}  // namespace mpt

// H40: which evaluation is the best; and when a run is hopeless (H01, H06, H36).
#include <catch2/catch.hpp>
#include <limits>

#include "train/best_tracker.h"
#include "train/divergence.h"

using namespace mpt;

TEST_CASE("the best is never NaN or infinite, and those rounds are no improvement") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    BestTracker best;
    CHECK_FALSE(best.offer(nan, 1, Better::kLower));
    CHECK_FALSE(best.value.has_value());
    CHECK(best.rounds_since == 1);
    CHECK(best.offer(0.5, 2, Better::kLower));
    CHECK(best.value == 0.5);
    CHECK_FALSE(best.offer(nan, 3, Better::kLower));
    CHECK(best.value == 0.5);
    CHECK(best.offer(0.4, 4, Better::kLower));
    CHECK_FALSE(best.offer(inf, 5, Better::kLower));
    CHECK_FALSE(best.offer(-inf, 5, Better::kLower));
    CHECK(best.rounds_since == 2);
    CHECK(best.offer(0.3, 6, Better::kLower));
    CHECK(best.value == 0.3);
    CHECK(best.step == 6);
    CHECK(best.rounds_since == 0);
}

TEST_CASE("higher can be better, equal is no improvement") {
    BestTracker best;
    CHECK(best.offer(0.5, 1, Better::kHigher));
    CHECK_FALSE(best.offer(0.5, 2, Better::kHigher));
    CHECK_FALSE(best.offer(0.4, 3, Better::kHigher));
    CHECK(best.offer(0.6, 4, Better::kHigher));
    CHECK_FALSE(best.offer(std::numeric_limits<double>::infinity(), 5, Better::kHigher));
    CHECK(best.step == 4);
}

TEST_CASE("of equal values the one with the lower loss is the better") {
    BestTracker best;
    CHECK(best.offer(0, 1, Better::kHigher, 5.0));  // BLEU 0 at first
    CHECK(best.offer(0, 2, Better::kHigher, 4.0));
    CHECK_FALSE(best.offer(0, 3, Better::kHigher, 4.0));
    CHECK_FALSE(best.offer(0, 4, Better::kHigher, std::numeric_limits<double>::quiet_NaN()));
    CHECK(best.step == 2);
    CHECK(best.loss == 4.0);
    CHECK(best.offer(1, 5, Better::kHigher, 6.0));  // the value counts first
    CHECK_FALSE(best.offer(0, 6, Better::kHigher, 1.0));
    CHECK(best.rounds_since == 1);
    // Of a checkpoint that does not know the loss, the best stays.
    best.loss.reset();
    CHECK_FALSE(best.offer(1, 7, Better::kHigher, 1.0));
}

TEST_CASE("divergence names update, scale, skips in a row and the last finite loss") {
    StepControl control;
    control.attempted = 57;
    control.used_loss_scale = 1;
    control.consecutive_nonfinite = 33;
    control.skips_at_floor = 20;
    CHECK(divergence(control, {0, 2.5}, 40).empty());
    control.stop = StopReason::kAtFloor;
    const std::string text = divergence(control, {0, 2.5}, 40);
    CHECK_THAT(text, Catch::Contains("update 57"));
    CHECK_THAT(text, Catch::Contains("20 non-finite updates in a row"));
    CHECK_THAT(text, Catch::Contains("loss scale 1, 33 skipped in a row"));
    CHECK_THAT(text, Catch::Contains("last finite loss 2.5"));

    control.stop = StopReason::kNonFinite;
    CHECK_THAT(divergence(control, {0, {}}, 40), Catch::Contains("33 updates in a row"));
    CHECK_THAT(divergence(control, {0, {}}, 40), Catch::Contains("last finite loss none"));

    control.stop = StopReason::kRunning;
    CHECK(divergence(control, {39, 1.0}, 40).empty());
    CHECK_THAT(divergence(control, {40, 1.0}, 40), Catch::Contains("40 losses in a row were not finite"));
}

TEST_CASE("which of three causes ends a run: what was not finite first, and how the loss went") {
    using enum DivergenceCause;
    const NonFinitePlace forward = {"fc (linear, forward)", false, false, true};
    const NonFinitePlace backward = {"conv1 (conv2d, backward)", false, true, true};
    const NonFinitePlace weight = {"fc.weight (stored)", true, false, false};
    const NonFinitePlace wide = {"fc (linear, forward, f32)", false, false, false};
    const NonFinitePlace wide_backward = {"fc (linear, backward, f32)", false, true, false};
    CHECK(divergence_cause({3, 2.3, 2.2}, forward) == kForward);
    CHECK(divergence_cause({0, 2.3, 2.2}, backward) == kLeastScale);
    CHECK(divergence_cause({3, 2.3, 2.2}, weight) == kTraining);
    CHECK(divergence_cause({3, 9.0, 2.2}, forward) == kTraining);  // the loss had risen
    CHECK(divergence_cause({3, 2.3, 2.3}, wide) == kTraining);     // f32 holds whatever learns
    CHECK(divergence_cause({3, {}, {}}, wide) == kForward);        // never once finite
    CHECK(divergence_cause({0, 2.3, 2.2}, wide_backward) == kTraining);
    StepControl control;
    control.used_loss_scale = 1;
    CHECK_THAT(print(kForward, control, {3, 2.3, 2.2}, forward),
               Catch::Contains("no loss scale changes, first fc (linear, forward)"));
    CHECK_THAT(print(kLeastScale, control, {0, 2.3, 2.2}, backward), Catch::Contains("at loss scale 1"));
    CHECK_THAT(print(kTraining, control, {3, 9.0, 2.2}, forward), Catch::Contains("rose from 2.2 to 9"));
}

// Means, medians and images/s against values worked out by hand; no clock is involved.
#include <catch2/catch.hpp>
#include <cmath>

#include "metrics/meters.h"

using namespace mpt;

TEST_CASE("the mean is weighted by samples") {
    MeanMeter meter;
    CHECK(std::isnan(meter.mean()));
    meter.add(8 * 1.0, 8);
    meter.add(2 * 6.0, 2);
    CHECK(meter.mean() == Approx(2.0));
}

TEST_CASE("images/s leaves the warm-up out") {
    RateMeter meter(2);
    CHECK(std::isnan(meter.median()));
    CHECK(std::isnan(meter.mean()));
    meter.add(10, 100);  // the slow first updates
    meter.add(10, 50);
    meter.add(10, 1);  // 10 a second
    meter.add(10, 2);  // 5
    meter.add(10, 5);  // 2
    CHECK(meter.median() == Approx(5));
    CHECK(meter.mean() == Approx(30.0 / 8.0));
}

TEST_CASE("a run no longer than its warm-up counts all updates") {
    RateMeter meter(5);
    meter.add(8, 2);
    meter.add(8, 4);
    CHECK(meter.median() == Approx(3));
    CHECK(meter.mean() == Approx(16.0 / 6.0));
}

TEST_CASE("images/s counts samples, not micro-steps") {
    // The same 32 images in the same time, as four updates of one micro-batch and as one of four.
    RateMeter one(0);
    RateMeter four(0);
    for (int i = 0; i < 4; ++i) one.add(8, 0.5);
    four.add(32, 2.0);
    CHECK(one.mean() == Approx(four.mean()));
    CHECK(one.median() == Approx(four.median()));
    CHECK(four.mean() == Approx(16));
}

TEST_CASE("median of few values") {
    CHECK(std::isnan(median_of({})));
    CHECK(median_of({3}) == 3);
    CHECK(median_of({4, 1}) == Approx(2.5));
    CHECK(median_of({9, 1, 5}) == 5);
    CHECK(median_of({7, 1, 5, 3}) == Approx(4));
}

// Running means and rates. They hold no clock: the caller says how long a thing took.
#pragma once

#include <cstdint>
#include <vector>

namespace mpt {

// Mean of per-sample values given as sums; NaN before the first.
struct MeanMeter {
    double sum = 0;
    std::int64_t count = 0;
    void add(double sum_of_samples, std::int64_t samples) {
        sum += sum_of_samples;
        count += samples;
    }
    double mean() const;
    bool operator==(const MeanMeter&) const = default;
};

// Images (or tokens) a second of training alone. The first `warmup` updates do not count, unless there are no
// others.
class RateMeter {
  public:
    explicit RateMeter(std::int64_t warmup) : warmup_(warmup) {}
    void add(std::int64_t images, double seconds);
    double median() const;              // of the rates of single updates; NaN before the first
    double mean() const;                // all images over all seconds; NaN before the first
    double seconds_per_update() const;  // mean; NaN before the first

  private:
    struct Total {
        double images = 0, seconds = 0, updates = 0;
    };
    std::int64_t warmup_ = 0;
    std::vector<double> rates_;  // one an update, the warm-up's included
    Total all_, counted_;
};

// Median; the mean of the middle two when there are evenly many; NaN of nothing.
double median_of(std::vector<double> values);

}  // namespace mpt

#include "metrics/meters.h"

#include <algorithm>
#include <limits>

namespace mpt {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double MeanMeter::mean() const {
    return count == 0 ? kNothing : sum / static_cast<double>(count);
}

std::size_t RateMeter::first_counted() const {
    const auto warmup = static_cast<std::size_t>(std::max<std::int64_t>(warmup_, 0));
    return warmup < updates_.size() ? warmup : 0;
}

double RateMeter::median() const {
    std::vector<double> rates;
    for (std::size_t i = first_counted(); i < updates_.size(); ++i)
        if (updates_[i].seconds > 0)
            rates.push_back(static_cast<double>(updates_[i].images) / updates_[i].seconds);
    return median_of(std::move(rates));
}

double RateMeter::mean() const {
    double images = 0;
    double seconds = 0;
    for (std::size_t i = first_counted(); i < updates_.size(); ++i) {
        images += static_cast<double>(updates_[i].images);
        seconds += updates_[i].seconds;
    }
    return seconds > 0 ? images / seconds : kNothing;
}

double median_of(std::vector<double> values) {
    if (values.empty()) return kNothing;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace mpt

#include "metrics/meters.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mpt {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double MeanMeter::mean() const {
    return count == 0 ? kNothing : sum / static_cast<double>(count);
}

void RateMeter::add(std::int64_t images, double seconds) {
    const auto count = static_cast<double>(images);
    rates_.push_back(seconds > 0 ? count / seconds : kNothing);
    all_.images += count;
    all_.seconds += seconds;
    all_.updates += 1;
    if (static_cast<std::int64_t>(rates_.size()) <= warmup_) return;
    counted_.images += count;
    counted_.seconds += seconds;
    counted_.updates += 1;
}

double RateMeter::median() const {
    const auto warmup = static_cast<std::size_t>(std::max<std::int64_t>(warmup_, 0));
    std::vector<double> rates(
        rates_.begin() + static_cast<std::ptrdiff_t>(warmup < rates_.size() ? warmup : 0), rates_.end());
    std::erase_if(rates, [](double rate) { return std::isnan(rate); });
    return median_of(std::move(rates));
}

double RateMeter::mean() const {
    const Total& total = counted_.seconds > 0 ? counted_ : all_;
    return total.seconds > 0 ? total.images / total.seconds : kNothing;
}

double RateMeter::seconds_per_update() const {
    const Total& total = counted_.seconds > 0 ? counted_ : all_;
    return total.updates > 0 ? total.seconds / total.updates : kNothing;
}

double median_of(std::vector<double> values) {
    if (values.empty()) return kNothing;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace mpt

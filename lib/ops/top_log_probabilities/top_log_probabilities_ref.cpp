#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/log_softmax/log_softmax.h"
#include "ops/reference.h"
#include "ops/top_log_probabilities/top_log_probabilities.h"

namespace mpt {

namespace {

void run_top_log_probabilities(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<TopLogProbabilitiesAttributes>();
    const auto z = reference::input(s, a, 0);
    const auto top = reference::output(s, a, 0);
    std::int32_t* indices = a.out<std::int32_t>(1);
    const std::int64_t columns = z.dim(1), classes = num_classes(attributes.vocabulary, columns);
    for (std::int64_t row = 0; row < z.dim(0); ++row) {
        const auto value = [&](std::int64_t c) { return z(row * columns + c); };
        double greatest = value(0), sum = 0;
        bool has_nan = false;
        for (std::int64_t c = 0; c < classes; ++c) {
            has_nan = has_nan || std::isnan(value(c));
            greatest = std::max(greatest, value(c));
        }
        for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(value(c) - greatest);
        std::vector<std::int64_t> order(static_cast<std::size_t>(classes));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        if (!has_nan)
            std::ranges::stable_sort(order,
                                     [&](auto left, auto right) { return value(left) > value(right); });
        for (std::int64_t k = 0; k < attributes.count; ++k) {
            const std::int64_t best = order[static_cast<std::size_t>(k)];
            const double logp = value(best) - greatest - std::log(sum);
            top.set(row * attributes.count + k, has_nan ? std::numeric_limits<double>::quiet_NaN() : logp);
            indices[row * attributes.count + k] = static_cast<std::int32_t>(best);
        }
    }
}

}  // namespace

void register_top_log_probabilities_ref(KernelTable& table) {
    table.add(reference::kernel<run_top_log_probabilities>(top_log_probabilities_op));
}

}  // namespace mpt

#include <algorithm>
#include <cmath>

#include "core/float_formats.h"
#include "ops/quantize_fp8/quantize_fp8.h"
#include "ops/quantize_fp8/scaling_rule.h"
#include "ops/reference.h"

namespace mpt {

namespace {

// NaN where any element is one.
float greatest_magnitude(const reference::Tensor& x) {
    double amax = 0;
    for (std::int64_t i = 0; i < x.size(); ++i)
        if (const double magnitude = std::abs(x(i)); magnitude > amax || std::isnan(magnitude))
            amax = std::isnan(amax) ? amax : magnitude;
    return static_cast<float>(amax);
}

void advance(const reference::Tensor& before, const reference::Tensor& after, float amax, float greatest,
             int margin) {
    const std::int64_t history = before.size() - scaling::kFirstAmax;
    std::vector<double> state = before.values();
    if (scaling::is_finite(amax)) {
        const auto next = static_cast<std::int64_t>(state[scaling::kNext]);
        state[static_cast<std::size_t>(scaling::kFirstAmax + next)] = static_cast<double>(amax);
        state[scaling::kNext] = static_cast<double>((next + 1) % history);
        const auto most =
            static_cast<float>(*std::max_element(state.begin() + scaling::kFirstAmax, state.end()));
        const auto of_state = static_cast<float>(state[scaling::kScale]);
        state[scaling::kScale] = static_cast<double>(scaling::scale_next(of_state, most, greatest, margin));
    }
    for (std::int64_t i = 0; i < after.size(); ++i) after.set(i, state[static_cast<std::size_t>(i)]);
}

void run_quantize(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<QuantizeFp8Attributes>();
    const auto x = reference::input(s, a, 0), state = reference::input(s, a, 1);
    const float greatest = attributes.format == DType::e4m3 ? kGreatestE4m3 : kGreatestE5m2;
    const float amax = greatest_magnitude(x);
    const float scale =
        scaling::scale_now(static_cast<float>(state(scaling::kScale)), amax, greatest, attributes.margin);
    const std::int64_t rows = x.dim(0), columns = x.dim(1);
    const auto put = [&](const reference::Tensor& to, std::int64_t at, double value) {
        to.set(at, value * static_cast<double>(scale));
    };
    if (attributes.rows)
        for (std::int64_t i = 0; i < x.size(); ++i)
            put(reference::output(s, a, rows_output(attributes)), i, x(i));
    if (attributes.columns) {
        const auto to = reference::output(s, a, columns_output(attributes));
        const std::int64_t length = to.dim(1);
        for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t r = 0; r < length; ++r)
                put(to, c * length + r, r < rows ? x(r * columns + c) : 0);
    }
    reference::output(s, a, 1).set(0, 1 / static_cast<double>(scale));
    advance(state, reference::output(s, a, 0), amax, greatest, attributes.margin);
}

}  // namespace

void register_quantize_fp8_ref(KernelTable& table) {
    table.add(reference::kernel<run_quantize>(quantize_fp8_op));
}

}  // namespace mpt

#include "train/value_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/float_formats.h"

namespace mpt {

namespace {

template <typename T>
ValueStatistics statistics_over(const T* data, std::int64_t count) {
    ValueStatistics s;
    s.elements = count;
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < count; ++i) {
        const float value = std::abs(static_cast<float>(data[i]));
        if (value == 0) {
            ++s.zeros;
            continue;
        }
        if (!std::isfinite(value)) {
            ++s.nonfinite;
            continue;
        }
        const int exponent = std::ilogb(value);
        const int bin = std::clamp(exponent, ValueStatistics::kLowest, ValueStatistics::kHighest);
        ++s.exponents[static_cast<std::size_t>(bin - ValueStatistics::kLowest)];
        s.subnormal += exponent < -14 ? 1 : 0;
        s.max_abs = std::max(s.max_abs, static_cast<double>(value));
        least = std::min(least, static_cast<double>(value));
    }
    s.min_abs = std::isfinite(least) ? least : 0;
    return s;
}

}  // namespace

double ValueStatistics::headroom_bits() const {
    constexpr double kLargestF16 = 65504;
    return std::log2(kLargestF16 / max_abs);
}

ValueStatistics statistics_of(const std::byte* data, const TensorType& type) {
    const std::int64_t count = type.shape.num_elements();
    switch (type.dtype) {
        case DType::f32:
            return statistics_over(reinterpret_cast<const float*>(data), count);
        case DType::f16:
            return statistics_over(reinterpret_cast<const f16*>(data), count);
        case DType::bf16:
            return statistics_over(reinterpret_cast<const bf16*>(data), count);
        case DType::e4m3:
            return statistics_over(reinterpret_cast<const e4m3*>(data), count);
        case DType::e5m2:
            return statistics_over(reinterpret_cast<const e5m2*>(data), count);
        default:
            return {};
    }
}

std::string print_nonfinite(const ValueStatistics& s) {
    std::string text = fmt::format("{} of {} elements", s.nonfinite, s.elements);
    if (s.max_abs > 0) text += fmt::format(", the finite ones within {:.3g}..{:.3g}", s.min_abs, s.max_abs);
    return text;
}

}  // namespace mpt

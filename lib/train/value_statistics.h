// What the elements of a tensor are like: range, zeros, what lies outside f16's normal range, exponents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace mpt {

struct ValueStatistics {
    static constexpr int kLowest = -40,
                         kHighest = 40;  // exponents with a bin of their own; others join the ends
    std::int64_t elements = 0, zeros = 0, nonfinite = 0;
    std::int64_t subnormal = 0;  // not zero and below f16's smallest normal number, 2^-14
    double max_abs = 0;          // of the finite ones
    double min_abs = 0;          // of those that are neither zero nor infinite; 0 when there is none
    std::array<std::int64_t, kHighest - kLowest + 1> exponents{};  // of |x|: 2^e <= |x| < 2^(e+1)

    std::int64_t nonzero() const { return elements - zeros; }
    double headroom_bits() const;  // log2(65504 / max_abs); infinite when all are zero
};

ValueStatistics statistics_of(const std::byte* data, const TensorType& type);
// "12 of 4096 elements, the finite ones within 1.2e-07..3.4"
std::string print_nonfinite(const ValueStatistics& statistics);

}  // namespace mpt

// Numbers by one rule, whatever the locale: 1e-4 in every spelling, no octal, no hexadecimal, no wrap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace mpt {

// The value, or what is wrong with the text ("is not a number"): a predicate to put behind it.
template <class T>
using Parsed = std::variant<T, std::string>;

// A finite double: [+-] digits with at most one point, and an optional exponent.
Parsed<double> parse_real(std::string_view text);

// Whole numbers in decimal: [+-] digits, no leading zero. Too big for 64 bits is its own fault.
Parsed<std::int64_t> parse_whole(std::string_view text);

// The shortest text that parse_real reads back to the same value: 0.0001, 5e-5, 1e38.
std::string print_real(double value);

}  // namespace mpt

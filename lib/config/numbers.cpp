#include "config/numbers.h"

#include <charconv>
#include <cmath>

namespace mpt {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
}

std::string_view without_plus(std::string_view text) {
    return text.starts_with('+') ? text.substr(1) : text;
}

std::string_view without_sign(std::string_view text) {
    return text.starts_with('+') || text.starts_with('-') ? text.substr(1) : text;
}

bool is_real(std::string_view text) {
    text = without_sign(text);
    std::size_t at = skip_digits(text, 0);
    std::size_t num_digits = at;
    if (at < text.size() && text[at] == '.') {
        const std::size_t end = skip_digits(text, at + 1);
        num_digits += end - at - 1;
        at = end;
    }
    if (num_digits == 0) return false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
        const std::size_t end = skip_digits(text, at);
        if (end == at) return false;
        at = end;
    }
    return at == text.size();
}

bool is_whole(std::string_view text) {
    text = without_sign(text);
    return !text.empty() && skip_digits(text, 0) == text.size();
}

bool is_non_finite_word(std::string_view text) {
    text = without_sign(text);
    if (text.starts_with('.')) text.remove_prefix(1);
    for (std::string_view word :
         {"nan", "NaN", "NAN", "inf", "Inf", "INF", "infinity", "Infinity", "INFINITY"})
        if (text == word) return true;
    return false;
}

// What is wrong with text that is no number, as precisely as can be said.
std::string why_no_number(std::string_view text, std::string_view wanted) {
    const std::string_view bare = without_sign(text);
    if (is_non_finite_word(text)) return "is not finite";
    if (bare.starts_with("0x") || bare.starts_with("0X")) return "is hexadecimal, write it in decimal";
    const std::size_t comma = text.find(',');
    if (comma != std::string_view::npos) {
        std::string pointed(text);
        pointed[comma] = '.';
        if (is_real(pointed)) return "has a decimal comma, write a point";
    }
    if (bare.find('_') != std::string_view::npos && is_digit(bare.front()))
        return "has an underscore, write the digits without";
    return "is not " + std::string(wanted);
}

}  // namespace

Parsed<double> parse_real(std::string_view text) {
    if (!is_real(text)) return why_no_number(text, "a number");
    const std::string_view body = without_plus(text);
    double value = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
    if (error == std::errc::result_out_of_range) return std::string("is beyond what 64-bit floats hold");
    if (error != std::errc{} || end != body.data() + body.size()) return std::string("is not a number");
    return value == 0 ? 0.0 : value;  // -0 is 0
}

Parsed<std::int64_t> parse_whole(std::string_view text) {
    if (!is_whole(text)) {
        if (is_real(text)) return std::string("is not a whole number");
        return why_no_number(text, "a whole number");
    }
    const std::string_view bare = without_sign(text);
    if (bare.size() > 1 && bare.front() == '0')
        return std::string("has a leading zero (octal to some), write it without");
    const std::string_view body = without_plus(text);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
    if (error != std::errc{} || end != body.data() + body.size()) return std::string("is out of range");
    return value;
}

std::string print_real(double value) {
    char buffer[64];
    const double magnitude = std::fabs(value);
    const bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e15);
    const auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
    const char* end = std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr;
    std::string text(buffer, static_cast<std::size_t>(end - buffer));
    const std::size_t exponent = text.find('e');
    if (exponent == std::string::npos) return text;
    // 1e+38 -> 1e38, 5e-05 -> 5e-5
    const bool negative = text[exponent + 1] == '-';
    const std::size_t digits = text.find_first_not_of('0', exponent + 2);
    return text.substr(0, exponent + 1) + (negative ? "-" : "") +
           (digits == std::string::npos ? "0" : text.substr(digits));
}

}  // namespace mpt

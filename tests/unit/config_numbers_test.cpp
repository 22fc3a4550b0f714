// Numbers of the config: the rule of configs/README.md. Reference: the values as C++ literals.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>

#include "config/numbers.h"
#include "support/config_text.h"

using namespace mpt;

namespace {

double real(std::string_view text) {
    const Parsed<double> parsed = parse_real(text);
    INFO(text);
    REQUIRE(std::holds_alternative<double>(parsed));
    return std::get<double>(parsed);
}

std::string real_fault(std::string_view text) {
    const Parsed<double> parsed = parse_real(text);
    INFO(text);
    REQUIRE(std::holds_alternative<std::string>(parsed));
    return std::get<std::string>(parsed);
}

std::string whole_fault(std::string_view text) {
    const Parsed<std::int64_t> parsed = parse_whole(text);
    INFO(text);
    REQUIRE(std::holds_alternative<std::string>(parsed));
    return std::get<std::string>(parsed);
}

}  // namespace

TEST_CASE("every spelling of 1e-4 is the same double") {
    for (std::string_view text :
         {"1e-4", "1E-4", "1.e-4", ".0001", "+1e-4", "0.0001", "00.0001", "10e-5", "1e-04"})
        CHECK(real(text) == 1e-4);
    CHECK(real("-2.5E+3") == -2500.0);
    CHECK(real("1e38") == 1e38);
    CHECK(real("0") == 0.0);
    CHECK_FALSE(std::signbit(real("-0")));
    CHECK(real("128") == 128.0);
}

TEST_CASE("what is no decimal number is refused with its reason") {
    for (std::string_view text :
         {"1e-4x", "", "+", "-", ".", "e5", "1e", "1e+", "1 2", " 1", "1 ", "--1", "1.2.3", "abc"})
        CHECK(real_fault(text) == "is not a number");
    CHECK(real_fault("1,5") == "has a decimal comma, write a point");
    CHECK(real_fault("0x10") == "is hexadecimal, write it in decimal");
    CHECK(real_fault("1_000") == "has an underscore, write the digits without");
    for (std::string_view text : {".nan", ".inf", "-.inf", "nan", "inf", "+.Inf", "NaN", "infinity"})
        CHECK(real_fault(text) == "is not finite");
    CHECK(real_fault("1e999") == "is beyond what 64-bit floats hold");
    CHECK(real_fault("-1e-999") == "is beyond what 64-bit floats hold");
}

TEST_CASE("whole numbers have no octal, no fraction and no wrap") {
    CHECK(std::get<std::int64_t>(parse_whole("0")) == 0);
    CHECK(std::get<std::int64_t>(parse_whole("-1")) == -1);
    CHECK(std::get<std::int64_t>(parse_whole("+42")) == 42);
    CHECK(std::get<std::int64_t>(parse_whole("9223372036854775807")) ==
          std::numeric_limits<std::int64_t>::max());
    CHECK(std::get<std::int64_t>(parse_whole("-9223372036854775808")) ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(whole_fault("9223372036854775808") == "is out of range");
    CHECK(whole_fault("99999999999999999999") == "is out of range");
    CHECK(whole_fault("2.5") == "is not a whole number");
    CHECK(whole_fault("1e3") == "is not a whole number");
    CHECK(whole_fault("010") == "has a leading zero (octal to some), write it without");
    CHECK(whole_fault("-007") == "has a leading zero (octal to some), write it without");
    CHECK(whole_fault("0x10") == "is hexadecimal, write it in decimal");
    CHECK(whole_fault("12a") == "is not a whole number");
    CHECK(whole_fault(".nan") == "is not finite");
}

TEST_CASE("printed numbers read back to the same bits") {
    CHECK(print_real(1e-4) == "0.0001");
    CHECK(print_real(5e-5) == "5e-5");
    CHECK(print_real(1e38) == "1e38");
    CHECK(print_real(0) == "0");
    CHECK(print_real(-0.1) == "-0.1");
    CHECK(print_real(65536) == "65536");
    for (const double value : {1.0 / 3, 0x1p-1060, 1.7976931348623157e308, 5e-324, 123456789012345680.0,
                               -1e-10, 1e15, 999999999999999.9, 4294967296.0}) {
        const std::string text = print_real(value);
        const Parsed<double> parsed = parse_real(text);
        INFO(text);
        REQUIRE(std::holds_alternative<double>(parsed));
        CHECK(std::get<double>(parsed) == value);
    }
}

TEST_CASE("a global locale with decimal commas and grouped digits changes nothing") {
    struct Commas : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\3"; }
    };
    const std::string text = "optimizer: {lr: 0.25}\ntrain: {steps: 1234567}\n";
    const std::string resolved = read_text(text).resolved;
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Commas));
    std::ostringstream stream;
    stream << 1234.5;
    const std::string grouped = stream.str();
    const std::string resolved_there = read_text(text).resolved;
    const std::string fault = fault_of("optimizer: {lr: '0,5'}\ntrain: {batch_size: 1234567890}");
    const double half = real("0.5");
    std::locale::global(before);
    CHECK(grouped == "1.234,5");  // the locale is in force
    CHECK(resolved_there == resolved);
    CHECK(half == 0.5);
    CHECK(fault ==
          "run.yaml:1:17: optimizer.lr: '0,5' has a decimal comma, write a point; it takes a number from 0 "
          "to 1e38 & "
          "run.yaml:2:21: train.batch_size: 1234567890 is out of range; it takes a whole number from 1 to "
          "1048576");
}

#include "core/printable.h"

#include <catch2/catch.hpp>

using mpt::printable;
using mpt::printable_lines;

TEST_CASE("what would steer a terminal or break a line is written out") {
    CHECK(printable("a\x1b[31mb\r\n\tc\x7f") == "a\\x1b[31mb\\r\\n\\tc\\x7f");
    CHECK(printable(std::string_view("nul\0!", 5)) == "nul\\x00!");
    CHECK(printable("\xC2\x9B"
                    "31m") == "\\xc2\\x9b31m");  // C1: CSI in one character
    CHECK(printable_lines("one\n\ttwo\x1b") == "one\n\ttwo\\x1b");
}

TEST_CASE("names in any script stay as they are, bytes that are no UTF-8 do not") {
    const std::string names = "Ö 图片/naïve 🐕 \\n \"quoted\" \xC2\xA0";
    CHECK(printable(names) == names);
    CHECK(printable("caf\xE9/x") == "caf\\xe9/x");
    CHECK(printable("\xC3") == "\\xc3");
    CHECK(printable("\xE5\x9B") == "\\xe5\\x9b");
    CHECK(printable("\xC0\xAF\xFF") == "\\xc0\\xaf\\xff");
    CHECK(printable("") == "");
}

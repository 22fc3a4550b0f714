// UTF-8, and the classes and lower case that Python's unicodedata gives.
#include <catch2/catch.hpp>

#include "dataset/text/unicode.h"
#include "support/errors.h"

using namespace mpt;
using namespace mpt::test;

// Reference: the table of well-formed byte sequences in the Unicode standard, chapter 3.
TEST_CASE("UTF-8: what is not well-formed is found at its first byte") {
    CHECK(find_invalid_utf8("plain, \xc3\xa4, \xe2\x82\xac, \xf0\x9f\x98\x80") == std::string_view::npos);
    const std::vector<std::string> bad = {
        "\x80", "\xc0\x80",         "\xc1\xbf",         "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xc3", "\xed\xa0\x80",     "\xf0\x8f\xbf\xbf", "\xe2\x82",     "\xf4\x90\x80\x80",
        "\xff", "\xf5\x80\x80\x80", "\xe2\x28\xa1",     "\xf0\x9f\x98"};
    for (const std::string& bytes : bad) {
        INFO(bytes.size() << " bytes from " << static_cast<int>(static_cast<unsigned char>(bytes[0])));
        CHECK(find_invalid_utf8("ab" + bytes) == 2);
        CHECK(find_invalid_utf8("ab" + bytes + "c") == 2);
    }
    CHECK(error_of(ExitCode::kData, [] { check_utf8("ab\xe4"); }).find("byte offset 2 (0xe4)") !=
          std::string::npos);
}

TEST_CASE("UTF-8: every code point survives writing and reading") {
    for (std::uint32_t c = 0; c < 0x110000; ++c) {
        if (c >= 0xd800 && c < 0xe000) continue;
        std::string text;
        append_utf8(text, c);
        std::size_t at = 0;
        if (decode_utf8(text, at) != c || at != text.size()) FAIL("code point " << c);
    }
    CHECK(utf8_prefix("a\xc3\xa4", 2) == 1);
    CHECK(utf8_prefix("a\xc3\xa4", 3) == 3);
    CHECK(utf8_prefix("a\xc3\xa4", 9) == 3);
}

// Reference: the number of code points of each class in Unicode 14, counted by Python's unicodedata.
TEST_CASE("classes of all code points") {
    int letters = 0, numbers = 0, spaces = 0;
    for (std::uint32_t c = 0; c < 0x110000; ++c) {
        letters += is_letter(c);
        numbers += is_number(c);
        spaces += is_space(c);
    }
    CHECK(letters == 131756);
    CHECK(numbers == 1791);
    CHECK(spaces == 25);
    CHECK(is_letter(0xdf));
    CHECK(is_letter(0x3042));
    CHECK_FALSE(is_letter(0x301));
    CHECK(is_number(0xbd));
    CHECK(is_number(0x2167));
    CHECK(is_space(0x3000));
    CHECK_FALSE(is_space(0x200b));
    CHECK_FALSE(is_space(0x1c));
}

// Reference: Python 3.11's str.lower; the last number is a hash over all single characters.
TEST_CASE("lower case") {
    CHECK(lower_case("Der MÜLLER, ẞ") == "der müller, ß");
    CHECK(lower_case("ΣΊΣΥΦΟΣ ΟΔΟΣ. Σ ΑΣ' ΑΣ'Α") == "σίσυφος οδος. σ ας' ασ'α");
    CHECK(lower_case("\xc4\xb0") == "i\xcc\x87");
    CHECK(lower_case("ДЖΩ \xe2\x84\xaa") == "джω k");
    std::uint64_t hash = 0;
    for (std::uint32_t c = 0; c < 0x110000; ++c) {
        if (c >= 0xd800 && c < 0xe000) continue;
        std::string text;
        append_utf8(text, c);
        for (const std::uint32_t l : code_points_of(lower_case(text))) hash = hash * 31 + l;
    }
    CHECK(hash == 2163500660183212571u);
}

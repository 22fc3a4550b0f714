#!/usr/bin/env python3
"""Writes lib/dataset/text/unicode_ranges.h: the character classes that text is split and lower-cased by.

    scripts/make_unicode_ranges.py > lib/dataset/text/unicode_ranges.h

The classes come from Python's unicodedata, the lower-case rules from what str.lower does. The committed file was made
by Python 3.11 (Unicode 14); another version may know more characters.
"""
import unicodedata

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
PER_LINE = 6


def ranges(contains):
    found = []
    for c in CODE_POINTS:
        if not contains(c):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def lower_runs():
    """[first, last, step, delta]: every step-th of first..last becomes itself + delta."""
    runs = []
    for c in CODE_POINTS:
        low = chr(c).lower()
        if low == chr(c) or len(low) != 1 or c == 0x3A3:
            continue  # U+0130 becomes two characters, U+03A3 depends on its neighbours: rules of their own
        delta = ord(low) - c
        last = runs[-1] if runs else None
        if last and delta == last[3] and c - last[1] in (1, 2) and last[2] in (0, c - last[1]):
            last[1], last[2] = c, c - last[1]
        else:
            runs.append([c, c, 0, delta])
    return [[first, last, step or 1, delta] for first, last, step, delta in runs]


def is_cased(c):
    # A sigma at the end of a word is a final one exactly when a cased letter comes before it.
    return (chr(c) + "\u03a3").lower()[-1] == "\u03c2"


def is_case_ignorable(c):
    # The rule sees a letter through it, but it is none itself.
    return ("A" + chr(c) + "\u03a3").lower()[-1] == "\u03c2" and not is_cased(c)


def table(name, comment, kind, rows):
    print(f"// {comment}\ninline constexpr {kind} {name}[] = {{")
    for at in range(0, len(rows), PER_LINE):
        print("    " + " ".join("{" + ", ".join(cell(v) for v in row) + "}," for row in rows[at : at + PER_LINE]))
    print("};\n")


def cell(value):
    return hex(value) if value > 2 else str(value)


def main():
    category = unicodedata.category
    print("// Made by scripts/make_unicode_ranges.py, not by hand. Unicode " + unicodedata.unidata_version + ".")
    print("#pragma once\n\n#include <cstdint>\n\nnamespace mpt {\n")
    print("struct CodeRange {\n    std::uint32_t first, last;\n};\n")
    print("// Every step-th code point of first..last becomes itself + delta.")
    print("struct LowerRun {\n    std::uint32_t first, last, step;\n    std::int32_t delta;\n};\n")
    print("// clang-format off")
    table("kLetterRanges", "General category L.", "CodeRange", ranges(lambda c: category(chr(c))[0] == "L"))
    table("kNumberRanges", "General category N.", "CodeRange", ranges(lambda c: category(chr(c))[0] == "N"))
    space = ranges(lambda c: category(chr(c))[0] == "Z" or 0x9 <= c <= 0xD or c == 0x85)
    table("kSpaceRanges", "The property White_Space.", "CodeRange", space)
    table("kCasedRanges", "Letters that have a case, by the rule for the final sigma.", "CodeRange", ranges(is_cased))
    ignorable = ranges(is_case_ignorable)
    table("kCaseIgnorableRanges", "What that rule looks through.", "CodeRange", ignorable)
    table("kLowerRuns", "Lower case, one character to one.", "LowerRun", lower_runs())
    print("// clang-format on\n\n}  // namespace mpt")


if __name__ == "__main__":
    main()

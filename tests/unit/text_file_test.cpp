// Text files, lines and splits.
#include "dataset/text/text_file.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "dataset/text/tokenizer.h"
#include "support/dataset_files.h"
#include "support/scratch_folder.h"

using namespace mpt;
using namespace mpt::test;

namespace {

std::string text_read_from(const std::string& bytes) {
    const ScratchFolder folder;
    write_file(folder / "a.txt", bytes);
    return read_text_file((folder / "a.txt").string());
}

}  // namespace

// Reference: by hand.
TEST_CASE("text: byte order mark and CRLF") {
    CHECK(text_read_from("\xef\xbb\xbf"
                         "a\r\nb\r\n") == "a\nb\n");
    CHECK(text_read_from("a\r\r\nb\r") == "a\nb");
    CHECK(text_read_from("a\rb\r\rc\n\r") == "a\rb\r\rc\n");
    CHECK(text_read_from("\r\n\r\n") == "\n\n");
    CHECK(text_read_from("a\xef\xbb\xbf") == "a\xef\xbb\xbf");
    CHECK(text_read_from("no end") == "no end");
}

TEST_CASE("text: gzip is read by its content") {
    const DataFolder folder;
    const std::string text = "eins\r\nzwei\n";
    folder.write("a.txt", gzip(Bytes(text.begin(), text.end())));
    CHECK(read_text_file(folder.file("a.txt")) == "eins\nzwei\n");
}

// The same corpus with LF and with CRLF: the same vocabulary, the same tokens, no CR among them.
TEST_CASE("text: line ends make no difference to a tokenizer") {
    std::string lf, crlf;
    for (int i = 0; i < 50; ++i) {
        const std::string line = "line number " + std::to_string(i) + " of a small text";
        lf += line + "\n";
        crlf += line + "\r\n";
    }
    const std::string a = text_read_from(lf), b = text_read_from(crlf);
    const auto from_a = make_character_tokenizer(a), from_b = make_character_tokenizer(b);
    CHECK(from_a->vocabulary_size() == from_b->vocabulary_size());
    CHECK(from_a->encode(a) == from_b->encode(b));
    CHECK(b.find('\r') == std::string::npos);
}

TEST_CASE("text: lines") {
    using Lines = std::vector<std::string_view>;
    CHECK(lines_of("a\nb\n") == Lines{"a", "b"});
    CHECK(lines_of("a\nb") == Lines{"a", "b"});
    CHECK(lines_of("a\n\nb\n\n") == Lines{"a", "", "b", ""});
    CHECK(lines_of("").empty());
    CHECK(lines_of("a\xe2\x80\xa8"
                   "b\n")
              .size() == 1);  // U+2028 ends no line
}

// Reference: nanoGPT's data/shakespeare_char: 1,115,394 characters are 1,003,854 and 111,540.
TEST_CASE("text: the last part is for validation") {
    CHECK(train_count(1115394, 0.1) == 1003854);
    CHECK(train_count(10, 0) == 10);
    CHECK(train_count(3, 0.5) == 1);
    const std::string text =
        "\xc3\xa4\xe2\x82\xac"
        "ab\xf0\x9f\x98\x80\xc3\xb6";  // 6 characters
    const TextSplit half = split_last(text, 0.5);
    CHECK(half.train ==
          "\xc3\xa4\xe2\x82\xac"
          "a");
    CHECK(half.validation == "b\xf0\x9f\x98\x80\xc3\xb6");
    CHECK(split_last(text, 0).train == text);
    CHECK(split_last(text, 0).validation.empty());
    CHECK(split_last(text, 0.9).train.empty());
}

// A split must never change between versions, or a checkpoint would have been trained on its validation data:
// the four sides are frozen (computed in Python). The share: within 4 standard deviations of a fair draw.
TEST_CASE("text: a hash of the source picks the side") {
    const auto validates = [](const std::string& line) { return is_validation_source(line, 0.5); };
    CHECK(validates("") == false);
    CHECK(validates("Ein Hund l\xc3\xa4uft.") == true);
    CHECK(validates("Ein Hund l\xc3\xa4uft") == false);
    CHECK(validates("a") == false);
    for (const double fraction : {0.02, 0.1, 0.5}) {
        int chosen = 0;
        for (int i = 0; i < 10000; ++i)
            chosen += is_validation_source("sentence " + std::to_string(i), fraction);
        CHECK(chosen / 10000.0 == Approx(fraction).margin(4 * std::sqrt(fraction * (1 - fraction) / 10000)));
    }
    CHECK_FALSE(is_validation_source("a", 0));
    // A greater fraction only adds to the validation side.
    for (int i = 0; i < 1000; ++i) {
        const std::string line = std::to_string(i);
        if (is_validation_source(line, 0.1)) CHECK(is_validation_source(line, 0.2));
    }
}

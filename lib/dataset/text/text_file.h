// Plain UTF-8 text, as a whole or by lines, plain or gzip.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mpt {

// The text of a file without its byte order mark, with LF for every CRLF (a CR at the very end of the file,
// too). Throws Error(kData) naming file, line and byte offset where it is not UTF-8, and when there is no
// text.
std::string read_text_file(const std::string& path);

// The lines of `text` without their ends; a line feed at the very end starts no further line.
std::vector<std::string_view> lines_of(std::string_view text);

// What a fraction of a text is kept back for validation.
struct TextSplit {
    std::string_view train, validation;
};

// Of n items the first int(n * (1 - fraction)) train, as nanoGPT counts. 0 <= fraction < 1.
std::int64_t train_count(std::int64_t num_items, double validation_fraction);
// The last characters (code points, not bytes) are for validation.
TextSplit split_last(std::string_view text, double validation_fraction);
// Whether a pair is for validation: a hash of its source side is below the fraction, so equal sources stay on
// one side, whatever their order and company.
bool is_validation_source(std::string_view source, double validation_fraction);

}  // namespace mpt

// Sentence pairs: two files line by line, or one with a tab between the sides; and their tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/text/tokenizer.h"

namespace mpt {

// Holds the text; the pairs point into it.
class ParallelText {
  public:
    struct Pair {
        std::string_view source, target;
    };

    ParallelText(ParallelText&&) = default;
    ParallelText& operator=(ParallelText&&) = default;

    // Throws Error(kData) naming both files and both counts when these differ.
    static ParallelText from_files(const std::string& source_path, const std::string& target_path);
    // Source, tab, target on each line; any other number of fields is refused by line.
    static ParallelText from_tsv(const std::string& path);

    const std::vector<Pair>& pairs() const { return pairs_; }
    const std::string& origin() const { return origin_; }  // the files, for messages

  private:
    ParallelText() = default;

    std::string origin_;
    std::vector<std::string> texts_;
    std::vector<Pair> pairs_;
};

// The pairs for validation or for training by is_validation_source.
enum class PairSide { kTrain, kValidation };
std::vector<ParallelText::Pair> select_pairs(std::span<const ParallelText::Pair> pairs, PairSide side,
                                             double validation_fraction);

enum class LongLines { kTruncate, kSkip };
struct LengthLimit {
    std::int64_t max_tokens = 256;  // of a side, without begin and end
    LongLines long_lines = LongLines::kTruncate;
};

// read = kept + skipped + empty; kept includes truncated. Empty are pairs of which a side has no token.
struct LoadReport {
    std::int64_t read = 0, kept = 0, truncated = 0, skipped = 0, empty = 0;
    bool operator==(const LoadReport&) const = default;
};

// "read 1000 pairs: 700 kept (0 truncated to 64 tokens), 300 skipped as longer than 64 tokens, 0 as empty".
std::string to_string(const LoadReport& report, const LengthLimit& limit);

// Encoded pairs in one row of tokens.
class PairTokens {
  public:
    std::int64_t num_pairs() const { return static_cast<std::int64_t>(ends_.size() / 2); }
    std::span<const TokenId> source(std::int64_t pair) const { return side(2 * pair); }
    std::span<const TokenId> target(std::int64_t pair) const { return side(2 * pair + 1); }
    void append(std::span<const TokenId> source_ids, std::span<const TokenId> target_ids);
    std::int64_t memory_bytes() const;
    std::uint64_t fingerprint() const;  // of every token and where the sentences end; never 0

  private:
    std::span<const TokenId> side(std::int64_t index) const;

    TokenIds ids_;
    std::vector<std::size_t> ends_;  // of source 0, target 0, source 1, ...
};

struct EncodedPairs {
    PairTokens tokens;
    LoadReport report;
};

// A line of more than 128 bytes for each token allowed counts as too long without being encoded as a whole:
// no token of the known vocabularies is longer. Throws Error(kData) naming `origin` and the report when
// nothing is left.
EncodedPairs encode_pairs(std::span<const ParallelText::Pair> pairs, const Tokenizer& source_tokenizer,
                          const Tokenizer& target_tokenizer, const LengthLimit& limit,
                          const std::string& origin);

}  // namespace mpt

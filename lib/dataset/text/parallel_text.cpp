#include "dataset/text/parallel_text.h"

#include <algorithm>

#include "core/error.h"
#include "dataset/text/content_hash.h"
#include "dataset/text/text_file.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

constexpr std::int64_t kMaxTokenBytes = 128;  // the longest token of GPT-2's vocabulary

struct EncodedSide {
    TokenIds ids;
    bool too_long = false;
};

// At most max_tokens + 1 tokens are of interest.
EncodedSide encode_side(std::string_view text, const Tokenizer& tokenizer, std::int64_t max_tokens) {
    const auto max_bytes = static_cast<std::size_t>(max_tokens * kMaxTokenBytes);
    EncodedSide side;
    side.too_long = text.size() > max_bytes;
    side.ids = tokenizer.encode(text.substr(0, utf8_prefix(text, max_bytes)));
    const auto limit = static_cast<std::size_t>(max_tokens);
    if (side.ids.size() > limit) {
        side.too_long = true;
        side.ids.resize(limit);
    }
    return side;
}

}  // namespace

ParallelText ParallelText::from_files(const std::string& source_path, const std::string& target_path) {
    ParallelText text;
    text.origin_ = source_path + " and " + target_path;
    text.texts_.push_back(read_text_file(source_path));
    text.texts_.push_back(read_text_file(target_path));
    const auto sources = lines_of(text.texts_[0]), targets = lines_of(text.texts_[1]);
    if (sources.size() != targets.size()) {
        throw Error(ExitCode::kData, source_path + " has " + std::to_string(sources.size()) + " lines, but " +
                                         target_path + " has " + std::to_string(targets.size()) +
                                         "; line i of the one must translate line i of the other");
    }
    for (std::size_t i = 0; i < sources.size(); ++i) text.pairs_.push_back({sources[i], targets[i]});
    return text;
}

ParallelText ParallelText::from_tsv(const std::string& path) {
    ParallelText text;
    text.origin_ = path;
    text.texts_.push_back(read_text_file(path));
    for (const std::string_view line : lines_of(text.texts_[0])) {
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
            throw Error(ExitCode::kData, path + ":" + std::to_string(text.pairs_.size() + 1) + ": " +
                                             std::to_string(std::count(line.begin(), line.end(), '\t') + 1) +
                                             " field(s), expected source, tab, target");
        }
        text.pairs_.push_back({line.substr(0, tab), line.substr(tab + 1)});
    }
    return text;
}

std::vector<ParallelText::Pair> select_pairs(std::span<const ParallelText::Pair> pairs, PairSide side,
                                             double validation_fraction) {
    std::vector<ParallelText::Pair> chosen;
    for (const auto& pair : pairs) {
        if (is_validation_source(pair.source, validation_fraction) == (side == PairSide::kValidation)) {
            chosen.push_back(pair);
        }
    }
    return chosen;
}

std::string to_string(const LoadReport& report, const LengthLimit& limit) {
    const std::string tokens = std::to_string(limit.max_tokens) + " tokens";
    return "read " + std::to_string(report.read) + " pairs: " + std::to_string(report.kept) + " kept (" +
           std::to_string(report.truncated) + " truncated to " + tokens + "), " +
           std::to_string(report.skipped) + " skipped as longer than " + tokens + ", " +
           std::to_string(report.empty) + " as empty";
}

void PairTokens::append(std::span<const TokenId> source_ids, std::span<const TokenId> target_ids) {
    for (const auto side_ids : {source_ids, target_ids}) {
        ids_.insert(ids_.end(), side_ids.begin(), side_ids.end());
        ends_.push_back(ids_.size());
    }
}

std::span<const TokenId> PairTokens::side(std::int64_t index) const {
    MPT_CHECK(index >= 0 && index < static_cast<std::int64_t>(ends_.size()));
    const auto i = static_cast<std::size_t>(index);
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::span(ids_).subspan(begin, ends_[i] - begin);
}

std::int64_t PairTokens::memory_bytes() const {
    return static_cast<std::int64_t>(ids_.capacity() * sizeof(TokenId) +
                                     ends_.capacity() * sizeof(std::size_t));
}

std::uint64_t PairTokens::fingerprint() const {
    ContentHash hash;
    hash.add(std::span<const TokenId>(ids_));
    hash.add(std::span<const std::size_t>(ends_));
    return hash.value();
}

EncodedPairs encode_pairs(std::span<const ParallelText::Pair> pairs, const Tokenizer& source_tokenizer,
                          const Tokenizer& target_tokenizer, const LengthLimit& limit,
                          const std::string& origin) {
    MPT_CHECK(limit.max_tokens >= 1);
    EncodedPairs result;
    LoadReport& report = result.report;
    for (const auto& pair : pairs) {
        ++report.read;
        const EncodedSide source = encode_side(pair.source, source_tokenizer, limit.max_tokens);
        const EncodedSide target = encode_side(pair.target, target_tokenizer, limit.max_tokens);
        const bool too_long = source.too_long || target.too_long;
        if (too_long && limit.long_lines == LongLines::kSkip) {
            ++report.skipped;
        } else if (source.ids.empty() || target.ids.empty()) {
            ++report.empty;
        } else {
            ++report.kept;
            report.truncated += too_long;
            result.tokens.append(source.ids, target.ids);
        }
    }
    if (report.kept == 0) {
        throw Error(ExitCode::kData,
                    origin + ": no pair is left (" + to_string(report, limit) + "); " +
                        (report.skipped > 0 ? "raise data.max_tokens and model.context, or set "
                                              "data.long_lines: truncate"
                                            : "a side of each is empty"));
    }
    return result;
}

}  // namespace mpt

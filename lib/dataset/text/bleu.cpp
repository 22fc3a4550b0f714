#include "dataset/text/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "core/error.h"
#include "dataset/text/unicode.h"

namespace mpt {
namespace {

using NgramCounts = std::unordered_map<std::string, std::int64_t>;

// Python's str.isspace: White_Space and the four information separators.
bool is_python_space(std::uint32_t c) {
    return is_space(c) || (c >= 0x1c && c <= 0x1f);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_stop(char c) {
    return c == '.' || c == ',';
}
// ASCII punctuation but for ' . , -, and the blank.
bool is_always_apart(char c) {
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Goes over the pairs of neighbours as a regular expression of two characters does: a pair that matches is
// consumed as a whole. What it looks at is ASCII, so bytes do as well as code points.
template <typename Matches>
std::string rewrite_pairs(const std::string& text, std::string_view before, std::string_view between,
                          std::string_view after, Matches matches) {
    std::string result;
    result.reserve(text.size() + text.size() / 4);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
            result += before;
            result += text[i];
            result += between;
            result += text[++i];
            result += after;
        } else {
            result += text[i];
        }
    }
    return result;
}

// A line feed at the end is no part of the segment: it must not join with a hyphen before it.
std::string_view without_trailing_space(std::string_view text) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_python_space(decode_utf8(text, at))) kept = at;
    }
    return text.substr(0, kept);
}

std::vector<std::string> split_at_spaces(const std::string& text) {
    std::vector<std::string> tokens;
    bool inside = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        if (is_python_space(decode_utf8(text, at))) {
            inside = false;
            continue;
        }
        if (!inside) tokens.emplace_back();
        inside = true;
        tokens.back().append(text, start, at - start);
    }
    return tokens;
}

std::vector<std::string> tokens_of(std::string_view line, const BleuOptions& options) {
    return options.lower_case ? bleu_tokens_13a(lower_case(line)) : bleu_tokens_13a(line);
}

// All n-grams, their tokens joined by blanks: no token holds one, so the key gives the order, too.
void count_ngrams(const std::vector<std::string>& tokens, std::size_t order, NgramCounts& counts) {
    for (std::size_t i = 0; i + order <= tokens.size(); ++i) {
        std::string key = tokens[i];
        for (std::size_t k = 1; k < order; ++k) key += " " + tokens[i + k];
        ++counts[key];
    }
}

std::int64_t closest_length(std::int64_t wanted, const std::vector<std::int64_t>& lengths) {
    return *std::min_element(lengths.begin(), lengths.end(), [&](std::int64_t a, std::int64_t b) {
        const std::int64_t da = std::abs(a - wanted), db = std::abs(b - wanted);
        return da != db ? da < db : a < b;
    });
}

double smoothing_value(const BleuOptions& options) {
    if (options.smoothing_value != 0) return options.smoothing_value;
    return options.smoothing == BleuSmoothing::kFloor ? 0.1 : 1.0;
}

std::array<double, kBleuOrder> precisions_of(const BleuCounts& counts, const BleuOptions& options) {
    std::array<double, kBleuOrder> precisions{};
    double halvings = 1;
    for (std::size_t n = 0; n < kBleuOrder; ++n) {
        const double added =
            options.smoothing == BleuSmoothing::kAddK && n > 0 ? smoothing_value(options) : 0;
        const double correct = static_cast<double>(counts.correct[n]) + added;
        const double total = static_cast<double>(counts.total[n]) + added;
        if (total == 0) break;
        if (correct != 0) {
            precisions[n] = 100 * correct / total;
        } else if (options.smoothing == BleuSmoothing::kExp) {
            halvings *= 2;
            precisions[n] = 100 / (halvings * total);
        } else if (options.smoothing == BleuSmoothing::kFloor) {
            precisions[n] = 100 * smoothing_value(options) / total;
        }
    }
    return precisions;
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
    for (std::size_t n = 0; n < kBleuOrder; ++n) {
        correct[n] += other.correct[n];
        total[n] += other.total[n];
    }
    hypothesis_length += other.hypothesis_length;
    reference_length += other.reference_length;
    return *this;
}

std::vector<std::string> bleu_tokens_13a(std::string_view line) {
    check_utf8(line);
    std::string text(without_trailing_space(line));
    replace_all(text, "<skipped>", "");
    replace_all(text, "-\n", "");
    replace_all(text, "\n", " ");
    replace_all(text, "&quot;", "\"");
    replace_all(text, "&amp;", "&");
    replace_all(text, "&lt;", "<");
    replace_all(text, "&gt;", ">");

    std::string apart = " ";
    for (const char c : text) apart += is_always_apart(c) ? std::string{' ', c, ' '} : std::string(1, c);
    apart += " ";
    // Stops and commas are left alone between digits, a hyphen is parted from a digit before it.
    apart = rewrite_pairs(apart, "", " ", " ", [](char a, char b) { return !is_digit(a) && is_stop(b); });
    apart = rewrite_pairs(apart, " ", " ", "", [](char a, char b) { return is_stop(a) && !is_digit(b); });
    apart = rewrite_pairs(apart, "", " ", " ", [](char a, char b) { return is_digit(a) && b == '-'; });
    return split_at_spaces(apart);
}

BleuCounts bleu_counts(std::string_view hypothesis, std::span<const std::string> references,
                       const BleuOptions& options) {
    MPT_CHECK(!references.empty());
    BleuCounts counts;
    const std::vector<std::string> tokens = tokens_of(hypothesis, options);
    std::vector<std::vector<std::string>> reference_tokens;
    std::vector<std::int64_t> lengths;
    for (const std::string& reference : references) {
        reference_tokens.push_back(tokens_of(reference, options));
        lengths.push_back(static_cast<std::int64_t>(reference_tokens.back().size()));
    }
    counts.hypothesis_length = static_cast<std::int64_t>(tokens.size());
    counts.reference_length = closest_length(counts.hypothesis_length, lengths);
    for (std::size_t order = 1; order <= kBleuOrder; ++order) {
        NgramCounts allowed, found;
        for (const auto& reference : reference_tokens) {
            NgramCounts own;
            count_ngrams(reference, order, own);
            for (const auto& [ngram, count] : own) allowed[ngram] = std::max(allowed[ngram], count);
        }
        count_ngrams(tokens, order, found);
        for (const auto& [ngram, count] : found) {
            counts.total[order - 1] += count;
            const auto match = allowed.find(ngram);
            if (match != allowed.end()) counts.correct[order - 1] += std::min(count, match->second);
        }
    }
    return counts;
}

BleuScore bleu_score(const BleuCounts& counts, const BleuOptions& options) {
    BleuScore result;
    result.counts = counts;
    if (counts.hypothesis_length < counts.reference_length) {
        result.brevity_penalty = counts.hypothesis_length == 0
                                     ? 0
                                     : std::exp(1 - static_cast<double>(counts.reference_length) /
                                                        static_cast<double>(counts.hypothesis_length));
    }
    // No match at all is 0, however it would be smoothed.
    if (std::all_of(counts.correct.begin(), counts.correct.end(), [](auto c) { return c == 0; }))
        return result;
    result.precisions = precisions_of(counts, options);
    double sum = 0;
    for (const double precision : result.precisions) {
        if (precision == 0) return result;
        sum += std::log(precision);
    }
    result.score = result.brevity_penalty * std::exp(sum / kBleuOrder);
    return result;
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const BleuOptions& options) {
    if (hypotheses.size() != references.size() || hypotheses.empty()) {
        throw Error(ExitCode::kData, "BLEU of " + std::to_string(hypotheses.size()) + " hypotheses and " +
                                         std::to_string(references.size()) +
                                         " references; there must be one for each, and at least one");
    }
    BleuCounts sum;
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        sum += bleu_counts(hypotheses[i], references.subspan(i, 1), options);
    }
    return bleu_score(sum, options);
}

std::string to_string(const BleuScore& score) {
    const auto number = [](double value, int digits) {
        char text[32];
        std::snprintf(text, sizeof text, "%.*f", digits, value);
        return std::string(text);
    };
    std::string text = "BLEU = " + number(score.score, 2);
    for (std::size_t n = 0; n < kBleuOrder; ++n)
        text += (n == 0 ? " " : "/") + number(score.precisions[n], 1);
    const double ratio = score.counts.reference_length == 0
                             ? 0
                             : static_cast<double>(score.counts.hypothesis_length) /
                                   static_cast<double>(score.counts.reference_length);
    return text + " (BP = " + number(score.brevity_penalty, 3) + " ratio = " + number(ratio, 3) +
           " hyp_len = " + std::to_string(score.counts.hypothesis_length) +
           " ref_len = " + std::to_string(score.counts.reference_length) + ")";
}

}  // namespace mpt

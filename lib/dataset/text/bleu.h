// BLEU of a corpus, as sacreBLEU computes it with its tokenizer 13a (Post, "A call for clarity in reporting
// BLEU scores", WMT 2018). On detokenized text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mpt {

constexpr std::size_t kBleuOrder = 4;

// What becomes of an order without a match. Exp halves a stand-in for each such order (NIST), floor takes
// `value` for the matches, add-k adds `value` to both counts from bigrams on.
enum class BleuSmoothing { kExp, kFloor, kAddK, kOff };

struct BleuOptions {
    bool lower_case = false;
    BleuSmoothing smoothing = BleuSmoothing::kExp;
    double smoothing_value = 0;  // 0: sacreBLEU's, 0.1 for floor and 1 for add-k
};

// Sums over a corpus, so that parts of it can be added up.
struct BleuCounts {
    std::array<std::int64_t, kBleuOrder> correct{}, total{};
    std::int64_t hypothesis_length = 0, reference_length = 0;
    BleuCounts& operator+=(const BleuCounts& other);
    bool operator==(const BleuCounts&) const = default;
};

struct BleuScore {
    double score = 0;                             // 0..100
    std::array<double, kBleuOrder> precisions{};  // 0..100
    double brevity_penalty = 1;
    BleuCounts counts;
};

// The tokens of a line: entities back to characters, punctuation apart, numbers whole.
std::vector<std::string> bleu_tokens_13a(std::string_view line);

// Of one hypothesis against its references (at least one; the closest length counts, then the shorter).
BleuCounts bleu_counts(std::string_view hypothesis, std::span<const std::string> references,
                       const BleuOptions& options = {});
BleuScore bleu_score(const BleuCounts& counts, const BleuOptions& options = {});
// One reference for each hypothesis. Throws Error(kData) when their numbers differ or are 0.
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const BleuOptions& options = {});

// As sacreBLEU prints it: "BLEU = 41.02 71.0/47.5/34.3/24.5 (BP = 0.999 ratio = 0.999 hyp_len = 1 ref_len =
// 2)".
std::string to_string(const BleuScore& score);

}  // namespace mpt

// Beam search over one sentence as a pure function of the log-probabilities that a model gives; with width 1
// it is greedy search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dataset/text/tokenizer.h"

namespace mpt {

struct BeamOptions {
    std::int64_t width = 1;
    double length_penalty = 0.6;  // alpha
    TokenId begin = 0, end = 0;
};

// ((5 + length) / 6)^alpha (Wu et al. 2016); the length counts the end, not the begin.
double length_penalty(std::int64_t length, double alpha);

struct Hypothesis {
    TokenIds tokens;             // without begin and end
    double log_probability = 0;  // of all tokens, the end included
    double score = 0;            // log_probability / length_penalty
    bool ended = false;          // by the end token, not by the limit
};

class BeamSearch {
  public:
    // At most `limit` tokens, the end included.
    BeamSearch(const BeamOptions& options, std::int64_t limit);

    // How many of the most likely tokens of each row advance() needs.
    static std::int64_t num_candidates(std::int64_t width) { return width == 1 ? 1 : 2 * width; }

    // The decoder has a row for each hypothesis. What row `row` reads next; begin at first.
    TokenId token(std::int64_t row) const;
    std::int64_t length() const { return length_; }  // tokens read so far: the position of token()
    // One step: the most likely tokens of each row [width, count], falling. Ends the search when `width`
    // hypotheses have ended, when none that has not can win any more, or at the limit. A row whose
    // log-probabilities are not finite is given up.
    void advance(std::span<const float> log_probabilities, std::span<const std::int32_t> tokens);
    // The row whose past row `row` goes on with since the last step. A row that is its own parent is no
    // other's child's place: rows may be copied in any order.
    std::int64_t parent(std::int64_t row) const;

    bool finished() const { return finished_; }
    // The best score among those that ended, else among the others; of equal ones the first found.
    const Hypothesis& best() const;

  private:
    struct Candidate {
        std::int64_t row;
        TokenId token;
        double log_probability;
    };
    struct Row {
        Hypothesis hypothesis;
        bool alive = false;
        std::int64_t parent = 0;
    };

    std::vector<Candidate> candidates(std::span<const float> log_probabilities,
                                      std::span<const std::int32_t> tokens) const;
    void keep(const std::vector<Candidate>& children);
    void add_ended(const Candidate& candidate);
    bool can_still_win() const;

    BeamOptions options_;
    std::int64_t limit_;
    std::int64_t length_ = 0;
    bool finished_ = false;
    std::vector<Row> rows_;
    std::vector<Hypothesis> ended_;
};

}  // namespace mpt

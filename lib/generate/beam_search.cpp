#include "generate/beam_search.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mpt {

double length_penalty(std::int64_t length, double alpha) {
    return std::pow((5 + static_cast<double>(length)) / 6, alpha);
}

BeamSearch::BeamSearch(const BeamOptions& options, std::int64_t limit)
    : options_(options), limit_(limit), rows_(static_cast<std::size_t>(options.width)) {
    MPT_CHECK(options.width >= 1 && limit >= 1, "a beam needs a row and a token");
    rows_[0].alive = true;
    for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row].parent = static_cast<std::int64_t>(row);
}

TokenId BeamSearch::token(std::int64_t row) const {
    const TokenIds& tokens = rows_[static_cast<std::size_t>(row)].hypothesis.tokens;
    return tokens.empty() ? options_.begin : tokens.back();
}

std::int64_t BeamSearch::parent(std::int64_t row) const {
    return rows_[static_cast<std::size_t>(row)].parent;
}

// The most likely ones, falling: at most num_candidates; a hypothesis can end once, so at least `width` of
// them go on, if there are that many.
std::vector<BeamSearch::Candidate> BeamSearch::candidates(std::span<const float> log_probabilities,
                                                          std::span<const std::int32_t> tokens) const {
    const std::size_t count = log_probabilities.size() / rows_.size();
    std::vector<Candidate> all;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (!rows_[row].alive) continue;
        for (std::size_t i = row * count; i < (row + 1) * count; ++i) {
            if (!std::isfinite(log_probabilities[i])) continue;
            all.push_back(
                {static_cast<std::int64_t>(row), static_cast<TokenId>(tokens[i]),
                 rows_[row].hypothesis.log_probability + static_cast<double>(log_probabilities[i])});
        }
    }
    std::ranges::stable_sort(all, std::greater<>{}, &Candidate::log_probability);
    const auto most = static_cast<std::size_t>(num_candidates(options_.width));
    if (all.size() > most) all.resize(most);
    return all;
}

void BeamSearch::add_ended(const Candidate& candidate) {
    Hypothesis hypothesis = rows_[static_cast<std::size_t>(candidate.row)].hypothesis;
    hypothesis.log_probability = candidate.log_probability;
    hypothesis.score = candidate.log_probability / length_penalty(length_, options_.length_penalty);
    hypothesis.ended = true;
    ended_.push_back(std::move(hypothesis));
}

// The first child of a row stays in it, others take the rows that have no child.
void BeamSearch::keep(const std::vector<Candidate>& children) {
    std::vector<Row> next(rows_.size());
    std::vector<const Candidate*> homeless;
    const auto place = [&](const Candidate& child, std::size_t row) {
        next[row] = {rows_[static_cast<std::size_t>(child.row)].hypothesis, true, child.row};
        next[row].hypothesis.tokens.push_back(child.token);
        next[row].hypothesis.log_probability = child.log_probability;
        next[row].hypothesis.score = child.log_probability / length_penalty(length_, options_.length_penalty);
    };
    for (const Candidate& child : children) {
        const auto row = static_cast<std::size_t>(child.row);
        if (next[row].alive)
            homeless.push_back(&child);
        else
            place(child, row);
    }
    std::size_t row = 0;
    for (const Candidate* child : homeless) {
        while (next[row].alive) ++row;
        place(*child, row);
    }
    for (row = 0; row < next.size(); ++row)
        if (!next[row].alive) next[row].parent = static_cast<std::int64_t>(row);
    rows_ = std::move(next);
}

void BeamSearch::advance(std::span<const float> log_probabilities, std::span<const std::int32_t> tokens) {
    MPT_CHECK(!finished_, "the search is over");
    ++length_;
    const std::vector<Candidate> all = candidates(log_probabilities, tokens);
    std::vector<Candidate> children;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool in_beam = static_cast<std::int64_t>(i) < options_.width;
        if (all[i].token != options_.end)
            children.push_back(all[i]);
        else if (in_beam)
            add_ended(all[i]);
        if (static_cast<std::int64_t>(children.size()) == options_.width) break;
    }
    const bool enough = static_cast<std::int64_t>(ended_.size()) >= options_.width;
    finished_ = enough || children.empty() || length_ >= limit_;
    if (children.empty()) return;  // the rows stay for best()
    keep(children);
    finished_ = finished_ || !can_still_win();
}

// A hypothesis only becomes less likely; its score is best when it is as long as can be.
bool BeamSearch::can_still_win() const {
    if (ended_.empty()) return true;
    double likely = -std::numeric_limits<double>::infinity();
    for (const Row& row : rows_)
        if (row.alive) likely = std::max(likely, row.hypothesis.log_probability);
    return likely / length_penalty(limit_, options_.length_penalty) > best().score;
}

const Hypothesis& BeamSearch::best() const {
    if (!ended_.empty()) return *std::ranges::max_element(ended_, {}, &Hypothesis::score);
    const Row* best = &rows_.front();
    for (const Row& row : rows_)
        if (row.alive && (!best->alive || row.hypothesis.score > best->hypothesis.score)) best = &row;
    return best->hypothesis;
}

}  // namespace mpt

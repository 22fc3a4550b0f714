// What the user may have meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpt {

// Lower case, with '-' and spaces as '_': num-epochs and Num_Epochs are both num_epochs.
std::string normalized(std::string_view word);

// Insertions, deletions, substitutions and swaps of neighbours between the normalized words.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that is at most a third of the word away, the nearest and first of them.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

// "a, b, c"
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

}  // namespace mpt

// Keys that were given and change nothing.
#pragma once

#include "config/rules.h"

namespace mpt {

// No SentencePiece vocabulary is made from the text: it is of another kind, or in a file.
bool learns_no_pieces(const RunConfig& config);

// A warning for each that is not at its default.
void warn_of_idle_keys(const GivenKeys& given, Faults& faults, const RunConfig& config);

}  // namespace mpt

// GPT-2's pre-tokenisation: the pieces inside which byte pairs are merged.
#pragma once

#include <string_view>

namespace mpt {

// The length in bytes of the first piece of `text`, which is valid UTF-8 and not empty. In the words of the
// pattern of OpenAI's encoder.py, first match wins:
//   's 't 're 've 'm 'll 'd | ?letters | ?numbers | ?others | spaces before the last space of a run | spaces
std::size_t gpt2_piece_length(std::string_view text);

}  // namespace mpt

// Tokens that come one by one as text: only whole characters are given out.
#pragma once

#include <string>

#include "dataset/text/tokenizer.h"

namespace mpt {

class TextStream {
  public:
    explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    // The text that is complete with this token; bytes that are no UTF-8 become U+FFFD.
    std::string add(TokenId id);
    // What was held back for the rest of a character that never came.
    std::string finish();

  private:
    std::string take(bool everything);

    const Tokenizer& tokenizer_;
    TokenIds shown_;    // the last tokens whose text is out: the text of a token may hang on those before it
    TokenIds pending_;  // tokens whose text is not out yet
};

}  // namespace mpt

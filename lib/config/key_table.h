// What the files of the key table share: bounds, and ways to complete a key.
#pragma once

#include "config/key_kinds.h"

namespace mpt {

inline constexpr std::int64_t kMany = 1000000000;
inline constexpr std::int64_t kLongest = 1000000000000;
// Arithmetic is in f32: no infinity above, no zero or subnormal below.
inline constexpr double kLargest = 1e38;
inline constexpr double kSmallest = 1e-30;

inline Key with_default(Key key, std::string text) {
    key.default_text = std::move(text);
    return key;
}
inline Key also_called(Key key, std::vector<std::string> synonyms) {
    key.synonyms = std::move(synonyms);
    return key;
}
inline Key only_if(Key key, std::string switch_path, std::vector<std::string> words) {
    key.switch_path = std::move(switch_path);
    key.switch_words = std::move(words);
    return key;
}

// Sections with a file of their own.
std::vector<Key> model_keys();        // keys_model.cpp
std::vector<Key> text_data_keys();    // keys_text.cpp
std::vector<Key> translation_keys();  // keys_text.cpp

}  // namespace mpt

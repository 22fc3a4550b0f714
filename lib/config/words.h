// The words of each choice, in the order they are listed. One table a type, read both ways.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "config/run_config.h"

namespace mpt {

template <class E>
struct Word {
    E value;
    std::string_view word;
};

template <class E>
std::span<const Word<E>> words_of();

template <class E>
std::string_view word_of(E value) {
    for (const Word<E>& entry : words_of<E>())
        if (entry.value == value) return entry.word;
    return "?";
}

template <class E>
std::optional<E> value_of(std::string_view word) {
    for (const Word<E>& entry : words_of<E>())
        if (entry.word == word) return entry.value;
    return std::nullopt;
}

}  // namespace mpt

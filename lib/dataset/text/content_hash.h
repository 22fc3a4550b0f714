// A fingerprint of numbers in their order: it tells data apart, and keeps nobody from forging it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace mpt {

class ContentHash {
  public:
    void add(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15u;
        state_ ^= state_ >> 32;
    }
    // Eight bytes at a time, the last ones filled up with zeros.
    template <class T>
    void add(std::span<const T> values) {
        const auto bytes = std::as_bytes(values);
        add(bytes.size());
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
            add(word);
        }
    }
    std::uint64_t value() const { return state_ != 0 ? state_ : 1; }  // 0 means that nothing is known

  private:
    std::uint64_t state_ = 0x243f6a8885a308d3u;
};

}  // namespace mpt

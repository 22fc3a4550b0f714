// Makes samples as they are trained on, for one worker of a stream. What a sample becomes depends on the
// seed, the epoch and its number alone.
#pragma once

#include <cstdint>

namespace mpt {

class SampleMaker {
  public:
    SampleMaker() = default;
    virtual ~SampleMaker() = default;
    SampleMaker(const SampleMaker&) = delete;
    SampleMaker& operator=(const SampleMaker&) = delete;

    // out: u8 (height, width, channels) of the source's geometry.
    virtual void make(std::int64_t sample, std::int64_t epoch, std::uint8_t* out) = 0;
};

}  // namespace mpt

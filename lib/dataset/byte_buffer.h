// Bytes aligned to 64 that are not cleared: what is never written is never resident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "core/error.h"

namespace mpt {

class ByteBuffer {
  public:
    ByteBuffer() = default;
    explicit ByteBuffer(std::size_t bytes) : size_(bytes) {
        data_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(64, bytes / 64 * 64 + 64)));
        if (bytes != 0 && !data_) {
            throw Error(ExitCode::kResource,
                        "cannot allocate " + std::to_string(bytes) + " bytes for images");
        }
    }
    std::uint8_t* data() { return data_.get(); }
    const std::uint8_t* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    std::span<std::uint8_t> bytes() { return {data_.get(), size_}; }
    std::span<const std::uint8_t> bytes() const { return {data_.get(), size_}; }

  private:
    struct Free {
        void operator()(std::uint8_t* pointer) const { std::free(pointer); }
    };
    std::unique_ptr<std::uint8_t[], Free> data_;
    std::size_t size_ = 0;
};

}  // namespace mpt

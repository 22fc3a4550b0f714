// The one block of memory a run works in: mapped once, on huge pages where the system gives them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mpt::cpu {

class Arena {
  public:
    Arena() = default;
    // Zeroed, aligned to 2 MiB, touched by `num_threads` threads, so that later steps meet no page fault.
    // Throws Error(kResource) when the system refuses.
    Arena(std::int64_t bytes, bool huge_pages, int num_threads);
    ~Arena();
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;

    std::byte* data() const { return data_; }
    std::int64_t bytes() const { return bytes_; }

  private:
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
};

}  // namespace mpt::cpu

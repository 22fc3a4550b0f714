// The memory of a run: the regions of the variable table, the step arena, and of a device two staging buffers
// for inputs, in one block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "graph/variables.h"

namespace mpt {

// Byte offsets of the regions; the step arena follows them.
struct StoreLayout {
    std::array<std::int64_t, kNumRegions> offsets{};
    std::int64_t step_arena_offset = 0;
    std::array<std::int64_t, 2> staging_offsets{};
    std::int64_t bytes = 0;  // of everything
};
// `staging_bytes` of one buffer.
StoreLayout lay_out(const VariableTable& variables, std::int64_t step_arena_bytes,
                    std::int64_t staging_bytes = 0);

// Addresses into the block. Does not own it.
class Store {
  public:
    Store() = default;
    Store(const VariableTable& variables, const StoreLayout& layout, std::byte* base);
    // The same regions for plans that run in another step arena.
    Store with_step_arena(std::byte* arena) const {
        Store store = *this;
        store.step_arena_ = arena;
        return store;
    }

    std::byte* region(Region r) const { return regions_[static_cast<std::size_t>(r)]; }  // nullptr: none
    std::byte* step_arena() const { return step_arena_; }
    std::byte* staging(int slot) const { return staging_[static_cast<std::size_t>(slot)]; }
    // Element `offset` of the region.
    std::byte* address(Region r, std::int64_t offset) const;

  private:
    std::array<std::byte*, kNumRegions> regions_{};
    std::array<std::int64_t, kNumRegions> element_bytes_{};
    std::byte* step_arena_ = nullptr;
    std::array<std::byte*, 2> staging_{};
};

}  // namespace mpt

#include "exec/store.h"

#include "core/error.h"
#include "plan/arena_plan.h"

namespace mpt {

StoreLayout lay_out(const VariableTable& variables, std::int64_t step_arena_bytes,
                    std::int64_t staging_bytes) {
    const auto aligned = [](std::int64_t bytes) {
        return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    };
    StoreLayout layout;
    std::int64_t offset = 0;
    for (int r = 0; r < kNumRegions; ++r) {
        layout.offsets[static_cast<std::size_t>(r)] = offset;
        offset += aligned(variables.region_bytes(static_cast<Region>(r)));
    }
    layout.step_arena_offset = offset;
    layout.bytes = offset + step_arena_bytes;
    if (staging_bytes != 0) layout.bytes = offset + aligned(step_arena_bytes);
    for (std::int64_t& at : layout.staging_offsets) {
        at = layout.bytes;
        layout.bytes += aligned(staging_bytes);
    }
    return layout;
}

Store::Store(const VariableTable& variables, const StoreLayout& layout, std::byte* base)
    : step_arena_(base + layout.step_arena_offset),
      staging_{base + layout.staging_offsets[0], base + layout.staging_offsets[1]} {
    for (int r = 0; r < kNumRegions; ++r) {
        const std::size_t i = static_cast<std::size_t>(r);
        const Region region = static_cast<Region>(r);
        if (variables.region_bytes(region) == 0) continue;
        regions_[i] = base + layout.offsets[i];
        element_bytes_[i] = static_cast<std::int64_t>(size_of(variables.region(region).dtype));
    }
}

std::byte* Store::address(Region r, std::int64_t offset) const {
    std::byte* base = region(r);
    MPT_CHECK(base != nullptr, std::string("this run has no region ") + name_of(r));
    return base + offset * element_bytes_[static_cast<std::size_t>(r)];
}

}  // namespace mpt

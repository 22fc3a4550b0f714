#include "ops/cache_append/cache_append.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_cache_append(const Signature& s, const KernelArgs& a) {
    const auto rows = reference::input(s, a, 1), position = reference::input(s, a, 2);
    const auto cache = reference::output(s, a, 0);
    const std::int64_t count = rows.dim(1), capacity = cache.dim(1);
    const std::int64_t width = rows.size() / (rows.dim(0) * count);
    for (std::int64_t b = 0; b < rows.dim(0); ++b) {
        const auto first = static_cast<std::int64_t>(position(b));
        check_cache_rows(first, count, capacity);
        for (std::int64_t i = 0; i < count * width; ++i)
            cache.set((b * capacity + first) * width + i, rows(b * count * width + i));
    }
}

}  // namespace

void register_cache_append_ref(KernelTable& table) {
    table.add(reference::kernel<run_cache_append>(cache_append_op));
}

}  // namespace mpt

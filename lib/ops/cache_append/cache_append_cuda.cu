#include "ops/cache_append/cache_append.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

// Rows of a batch, as packs. A kernel cannot throw: a row that does not fit is left out, so that nothing
// outside the cache is written.
template <int pack, typename C, typename T>
MPT_KERNEL(256)
void cache_append_kernel(std::int64_t packs, std::int64_t packs_of_row, std::int64_t count,
                         std::int64_t capacity, const T* rows, const std::int32_t* position, C* cache) {
    for (std::int64_t p = gpu::block_index() * 256 + gpu::thread_index(); p < packs;
         p += gpu::num_blocks() * 256) {
        const std::int64_t row = p / packs_of_row, b = row / count, at = position[b] + row % count;
        if (at < 0 || at >= capacity) continue;
        float v[pack];
        gpu::load<pack>(rows + p * pack, v);
        gpu::store<pack>(cache + ((b * capacity + at) * packs_of_row + p % packs_of_row) * pack, v);
    }
}

void run_cache_append(const gpu::Call& s, const KernelArgs& a) {
    const Shape& shape = s.in(1).shape;
    const std::int64_t elements = shape.num_elements(), width = elements / (shape[0] * shape[1]);
    gpu::with_storage(s.in(0).dtype, [&]<typename C>(C) {
        gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
            const auto run = [&]<int pack>(std::integral_constant<int, pack>) {
                gpu::launch(
                    *s.device,
                    {.blocks = gpu::blocks_for(*s.device, elements / pack, 256), .threads_meet = false},
                    cache_append_kernel<pack, C, T>, elements / pack, width / pack, shape[1],
                    s.in(0).shape[1], a.in<T>(1), a.in<std::int32_t>(2), a.out<C>(0));
            };
            gpu::with_pack<gpu::kPerPack<C, T>>(width, run);
        });
    });
}

}  // namespace

MPT_REGISTER_CUDA(cache_append)(KernelTable& table) {
    table.add(gpu::kernel<run_cache_append>(cache_append_op));
}

}  // namespace mpt

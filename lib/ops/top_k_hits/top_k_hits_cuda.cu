#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/top_k_hits/top_k_hits.h"

namespace mpt {

namespace {

constexpr std::int32_t kNoHit = 1 << 30;

// How many classes rank before the label's; kNoHit where the row does not count or its logit is NaN.
template <int lanes, typename T>
MPT_KERNEL(gpu::kRowThreads)
void rank_kernel(std::int64_t rows, std::int64_t classes, std::int32_t ignored, const T* z,
                 const std::int32_t* labels, std::int32_t* ranks) {
    const gpu::RowGroup<lanes> group;
    if (lanes == gpu::kLanes && group.row >= rows) return;
    const T* row = z + group.row * classes;
    const std::int32_t label = labels[group.row];
    const bool known = label >= 0 && label < classes && label != ignored;
    const float own = known ? gpu::widen(row[label]) : NAN;
    std::int32_t before = 0;
    group.template for_packs<1>(classes, [&](std::int64_t c) {
        const float other = gpu::widen(row[c]);
        before += other != other || other > own || (other == own && c < label) ? 1 : 0;
    });
    before = group.sum(before);
    if (group.lane == 0) ranks[group.row] = own != own ? kNoHit : before;
}

MPT_KERNEL(gpu::kRowThreads)
void count_kernel(std::int64_t rows, std::int32_t five, const std::int32_t* ranks, std::int32_t* hits1,
                  std::int32_t* hits5) {
    std::int32_t first = 0, among = 0;
    for (std::int64_t r = gpu::thread_index(); r < rows; r += gpu::kRowThreads) {
        first += ranks[r] < 1 ? 1 : 0;
        among += ranks[r] < five ? 1 : 0;
    }
    first = gpu::sum_block<gpu::kRowThreads>(first);
    among = gpu::sum_block<gpu::kRowThreads>(among);
    if (gpu::thread_index() != 0) return;
    *hits1 = first;
    *hits5 = among;
}

void run_top_k_hits(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t rows = s.in(0).shape[0], classes = s.in(0).shape[1];
    const auto ignored = static_cast<std::int32_t>(s.attributes.as<TopKHitsAttributes>().ignore_index);
    auto* ranks = static_cast<std::int32_t*>(a.workspace);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_row_shape<1>(classes, [&]<int lanes, int pack>(std::integral_constant<int, lanes>,
                                                                 std::integral_constant<int, pack>) {
            gpu::launch(*s.device, gpu::row_launch<lanes>(rows), rank_kernel<lanes, T>, rows, classes,
                        ignored, a.in<T>(0), a.in<std::int32_t>(1), ranks);
        });
    });
    gpu::launch(*s.device, {.threads = gpu::kRowThreads}, count_kernel, rows,
                static_cast<std::int32_t>(std::min<std::int64_t>(5, classes)), ranks, a.out<std::int32_t>(0),
                a.out<std::int32_t>(1));
}

std::size_t ranks_bytes(const gpu::Call& s) {
    return static_cast<std::size_t>(s.in(0).shape[0]) * sizeof(std::int32_t);
}

}  // namespace

MPT_REGISTER_CUDA(top_k_hits)(KernelTable& table) {
    table.add(gpu::kernel<run_top_k_hits, ranks_bytes>(top_k_hits_op));
}

}  // namespace mpt

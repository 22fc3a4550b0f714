// Kernels that work row by row on [rows, width]: a warp a row where rows are short, a block where they are
// long.
#pragma once

#include "backends/cuda/device_math.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kRowThreads = 128;  // of a block: four short rows, or one long one
inline constexpr std::int64_t kLongRow = 1024;

// The threads that share one row. `lanes` is 32 or kRowThreads.
template <int lanes>
struct RowGroup {
    static constexpr int kLanesOfRow = lanes;
    std::int64_t row;
    int lane;

    MPT_DEVICE RowGroup()
        : row(block_index() * (kRowThreads / lanes) + thread_index() / lanes), lane(thread_index() % lanes) {}
    template <typename T>
    MPT_DEVICE T sum(T value) const {
        if constexpr (lanes == kLanes) return sum_lanes(value);
        return sum_block<kRowThreads>(value);
    }
    template <typename T>
    MPT_DEVICE T greatest(T value) const {
        if constexpr (lanes == kLanes) return greatest_of_lanes(value);
        return greatest_of_block<kRowThreads>(value);
    }
    // body(i, p) for `packs` packs at most, which a thread may keep under p.
    template <int pack, int packs, typename Body>
    MPT_DEVICE void for_kept(std::int64_t width, const Body& body) const {
        MPT_UNROLL
        for (int p = 0; p < packs; ++p) {
            const std::int64_t i = (std::int64_t{p} * lanes + lane) * pack;
            if (i < width) body(i, p);
        }
    }
    // body(i) for the first index of each of this thread's packs.
    template <int pack, typename Body>
    MPT_DEVICE void for_packs(std::int64_t width, const Body& body) const {
        for (std::int64_t i = std::int64_t{lane} * pack; i < width; i += std::int64_t{lanes} * pack) body(i);
    }
};

// Calls body(lanes, pack) as integral constants; pack divides the width, and is 1 where nothing else does.
template <int most, typename Body>
void with_row_shape(std::int64_t width, const Body& body) {
    const auto with_pack = [&](auto lanes) {
        if (width % most == 0)
            body(lanes, std::integral_constant<int, most>{});
        else
            body(lanes, std::integral_constant<int, 1>{});
    };
    if (width >= kLongRow)
        with_pack(std::integral_constant<int, kRowThreads>{});
    else
        with_pack(std::integral_constant<int, kLanes>{});
}

// As with_row_shape, and body(lanes, pack, packs) is told how many packs of a row each thread keeps in
// registers between its passes over it: the first of `kept` elements, in ascending order, that hold the row;
// 0 where none does, or the row is odd.
template <int most, int... kept, typename Body>
void with_kept_rows(std::int64_t width, const Body& body) {
    with_row_shape<most>(width, [&]<int lanes, int pack>(std::integral_constant<int, lanes> l,
                                                         std::integral_constant<int, pack> p) {
        bool done = false;
        if constexpr (pack == most && most > 1) {
            const auto use = [&](auto packs) {
                if (done || blocks_for(width, lanes * pack) > packs) return;
                body(l, p, packs);
                done = true;
            };
            (use(std::integral_constant<int, kept / pack>{}), ...);
        }
        if (!done) body(l, p, std::integral_constant<int, 0>{});
    });
}

template <int lanes>
Launch row_launch(std::int64_t rows) {
    return {.blocks = blocks_for(rows, kRowThreads / lanes), .threads = kRowThreads};
}

// The sum of `count` f32 values in a fixed order, by one block; finish(sum in f64) is called by one thread.
template <typename Finish>
MPT_KERNEL(kRowThreads)
void total_kernel(Finish finish, std::int64_t count, const float* values) {
    double sum = 0;
    for (std::int64_t i = thread_index(); i < count; i += kRowThreads) sum += static_cast<double>(values[i]);
    sum = sum_block<kRowThreads>(sum);
    if (thread_index() == 0) finish(sum);
}
struct StoreTotal {
    float* to;
    MPT_DEVICE void operator()(double sum) const { *to = static_cast<float>(sum); }
};

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

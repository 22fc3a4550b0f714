// Sums over the rows of [rows, columns] for every column, several terms at a time: batch-norm statistics,
// gradients of gains and biases. Blocks sum slabs of rows in f32; a second kernel adds the slabs in f64 and
// hands the sums to a function. One order of addition, whatever runs first.
//
// What is summed is given by a struct F:
//   struct Column {...};                       what it keeps of a column while it walks the rows
//   Column column(c) const;
//   float operator()(row, const Column&, float (&terms)[F::kTerms], float... x) const;
// The result is stored into y where F::kStores.
#pragma once

#include "backends/cuda/device_math.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kColumnThreads = 256;
inline constexpr std::int64_t kMostSlabs = 128;

// How [rows, columns] is cut: blocks of `across` packs of columns by `slabs` of rows.
struct ColumnTiles {
    std::int64_t rows = 0, columns = 0, slabs = 1, rows_of_slab = 1;
    int across = 1;  // threads side by side, a power of two up to 32
};

inline ColumnTiles column_tiles(const Device& device, std::int64_t rows, std::int64_t columns, int pack) {
    ColumnTiles tiles;
    tiles.rows = rows;
    tiles.columns = columns;
    const std::int64_t packs = blocks_for(columns, pack);
    while (tiles.across < 32 && tiles.across < packs) tiles.across *= 2;
    const std::int64_t blocks_across = blocks_for(packs, tiles.across);
    const std::int64_t down = kColumnThreads / tiles.across;
    const std::int64_t wanted = std::int64_t{device.info().num_sms} * 4 / blocks_across;
    // No slab under four rows a thread.
    tiles.slabs = std::max<std::int64_t>(1, std::min({wanted, kMostSlabs, rows / (4 * down)}));
    tiles.rows_of_slab = blocks_for(rows, tiles.slabs);
    tiles.slabs = blocks_for(rows, tiles.rows_of_slab);
    return tiles;
}

// Of the partial sums; enough for any width of loads.
inline std::size_t column_sums_bytes(const Device& device, std::int64_t rows, std::int64_t columns,
                                     int terms) {
    std::int64_t slabs = 1;
    for (const int pack : {1, 4, 8}) slabs = std::max(slabs, column_tiles(device, rows, columns, pack).slabs);
    return static_cast<std::size_t>(slabs * columns * terms) * sizeof(float);
}

template <int pack, typename F, typename Y, typename... X>
MPT_KERNEL(kColumnThreads)
void column_partials_kernel(F f, ColumnTiles tiles, float* partials, Y* y, const X*... x) {
    constexpr int kTerms = F::kTerms;
    MPT_SHARED(float, of_thread, kTerms* pack* kColumnThreads);
    const int across = thread_index() % tiles.across, down = thread_index() / tiles.across;
    const int rows_down = kColumnThreads / tiles.across;
    const std::int64_t column = (block_index() * tiles.across + across) * pack;
    float sums[kTerms][pack] = {};
    if (column < tiles.columns) {
        typename F::Column of_column[pack];
        MPT_UNROLL
        for (int k = 0; k < pack; ++k) of_column[k] = f.column(column + k);
        const std::int64_t begin = block_index_y() * tiles.rows_of_slab;
        const std::int64_t end =
            begin + tiles.rows_of_slab < tiles.rows ? begin + tiles.rows_of_slab : tiles.rows;
        for (std::int64_t row = begin + down; row < end; row += rows_down) {
            const std::int64_t at = row * tiles.columns + column;
            float values[sizeof...(X)][pack];
            int next = 0;
            ((load<pack>(x + at, values[next]), ++next), ...);
            float out[pack];
            [&]<std::size_t... index>(std::index_sequence<index...>) {
                MPT_UNROLL
                for (int k = 0; k < pack; ++k) {
                    float terms[kTerms];
                    out[k] = f(row, of_column[k], terms, values[index][k]...);
                    MPT_UNROLL
                    for (int t = 0; t < kTerms; ++t) sums[t][k] += terms[t];
                }
            }
            (std::index_sequence_for<X...>{});
            if constexpr (F::kStores) store<pack>(y + at, out);
        }
    }
    MPT_UNROLL
    for (int t = 0; t < kTerms; ++t) {
        MPT_UNROLL
        for (int k = 0; k < pack; ++k)
            of_thread.put((t * pack + k) * kColumnThreads + thread_index(), sums[t][k]);
    }
    sync_block();
    for (int i = thread_index(); i < kTerms * pack * tiles.across; i += kColumnThreads) {
        const int lane = i % tiles.across, k = i / tiles.across % pack, t = i / (tiles.across * pack);
        const std::int64_t c = (block_index() * tiles.across + lane) * pack + k;
        float sum = 0;
        for (int d = 0; d < rows_down; ++d)
            sum += of_thread.get((t * pack + k) * kColumnThreads + d * tiles.across + lane);
        if (c < tiles.columns) partials[(block_index_y() * kTerms + t) * tiles.columns + c] = sum;
    }
}

// Columns of a block that adds slabs: 32 bytes of each, and many slabs at a time.
inline constexpr int kFinishColumns = 8;

// finish(column, sums of all rows, f64).
template <int terms, typename Finish>
MPT_KERNEL(kColumnThreads)
void column_finish_kernel(Finish finish, ColumnTiles tiles, const float* partials) {
    constexpr int kAcross = kFinishColumns, kDown = kColumnThreads / kAcross;
    MPT_SHARED(double, of_thread, terms* kColumnThreads);
    const int lane = thread_index() % kAcross, down = thread_index() / kAcross;
    const std::int64_t column = block_index() * kAcross + lane;
    double sums[terms] = {};
    for (std::int64_t slab = down; slab < tiles.slabs && column < tiles.columns; slab += kDown) {
        MPT_UNROLL
        for (int t = 0; t < terms; ++t)
            sums[t] += static_cast<double>(partials[(slab * terms + t) * tiles.columns + column]);
    }
    MPT_UNROLL
    for (int t = 0; t < terms; ++t) of_thread.put(t * kColumnThreads + thread_index(), sums[t]);
    sync_block();
    if (down != 0 || column >= tiles.columns) return;
    MPT_UNROLL
    for (int t = 0; t < terms; ++t) {
        for (int d = 1; d < kDown; ++d) sums[t] += of_thread.get(t * kColumnThreads + d * kAcross + lane);
    }
    finish(column, sums);
}

template <int terms, typename Finish>
void finish_column_sums(Device& device, const ColumnTiles& tiles, const Finish& finish,
                        const float* partials) {
    launch(device, {.blocks = blocks_for(tiles.columns, kFinishColumns), .threads = kColumnThreads},
           column_finish_kernel<terms, Finish>, finish, tiles, partials);
}

// `partials`: column_sums_bytes of workspace.
template <typename F, typename Finish, typename Y, typename... X>
void column_sums(Device& device, std::int64_t rows, std::int64_t columns, const F& f, const Finish& finish,
                 void* partials, Y* y, const X*... x) {
    constexpr int kPack = F::kStores ? kPerPack<Y, X...> : kPerPack<X...>;
    auto* sums = static_cast<float*>(partials);
    const auto run = [&]<int pack>(std::integral_constant<int, pack>) {
        const ColumnTiles tiles = column_tiles(device, rows, columns, pack);
        launch(device,
               {.blocks = blocks_for(columns, std::int64_t{tiles.across} * pack),
                .threads = kColumnThreads,
                .blocks_y = tiles.slabs},
               column_partials_kernel<pack, F, Y, X...>, f, tiles, sums, y, x...);
        finish_column_sums<F::kTerms>(device, tiles, finish, sums);
    };
    if (columns % kPack == 0)
        run(std::integral_constant<int, kPack>{});
    else
        run(std::integral_constant<int, 1>{});
}

// For sums that need nothing of a column, and store nothing.
struct NoColumn {};

// Of x.
struct PlainSum {
    static constexpr int kTerms = 1;
    static constexpr bool kStores = false;
    using Column = NoColumn;
    MPT_DEVICE Column column(std::int64_t) const { return {}; }
    MPT_DEVICE float operator()(std::int64_t, const Column&, float (&terms)[1], float x) const {
        terms[0] = x;
        return 0;
    }
};

// Of x and x^2.
struct SumAndSquares {
    static constexpr int kTerms = 2;
    static constexpr bool kStores = false;
    using Column = NoColumn;
    MPT_DEVICE Column column(std::int64_t) const { return {}; }
    MPT_DEVICE float operator()(std::int64_t, const Column&, float (&terms)[2], float x) const {
        terms[0] = x;
        terms[1] = x * x;
        return 0;
    }
};

// Of x and x r.
struct SumAndProduct {
    static constexpr int kTerms = 2;
    static constexpr bool kStores = false;
    using Column = NoColumn;
    MPT_DEVICE Column column(std::int64_t) const { return {}; }
    MPT_DEVICE float operator()(std::int64_t, const Column&, float (&terms)[2], float x, float r) const {
        terms[0] = x;
        terms[1] = x * r;
        return 0;
    }
};

// Of x, x r1 and x r2.
struct SumAndTwoProducts {
    static constexpr int kTerms = 3;
    static constexpr bool kStores = false;
    using Column = NoColumn;
    MPT_DEVICE Column column(std::int64_t) const { return {}; }
    MPT_DEVICE float operator()(std::int64_t, const Column&, float (&terms)[3], float x, float r1,
                                float r2) const {
        terms[0] = x;
        terms[1] = x * r1;
        terms[2] = x * r2;
        return 0;
    }
};

// Stores the sums as f32, `rows_between` rows of columns apart.
template <int terms>
struct StoreSums {
    float* to[terms];
    MPT_DEVICE void operator()(std::int64_t column, const double (&sums)[terms]) const {
        MPT_UNROLL
        for (int t = 0; t < terms; ++t) to[t][column] = static_cast<float>(sums[t]);
    }
};

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

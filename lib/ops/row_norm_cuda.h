// Norms over the last dimension for layer_norm, rms_norm and the two with a sum before them. For *_cuda.cu
// files only.
#pragma once

#include "backends/cuda/column_sums.h"
#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

enum class Centre : std::uint8_t { kMean, kZero };  // of layer norms, of rms_norm

template <typename T>
struct NormForward {
    const T* x;
    const T* added;  // or null; x + added is stored and normalised
    T* sum;
    const float *gain, *bias;  // bias may be null
    T* y;
    float *mean, *rstd;  // mean is null where the norm does not centre
    double epsilon;
    std::int64_t rows, width;
};

// A row stays in registers between its passes where `packs` of it a thread are not 0.
template <int lanes, int pack, int packs, Centre centre, typename T>
MPT_KERNEL(kRowThreads)
void norm_forward_kernel(NormForward<T> n) {
    const RowGroup<lanes> group;
    if (lanes == kLanes && group.row >= n.rows) return;
    const std::int64_t first = group.row * n.width;
    float kept[packs > 0 ? packs : 1][pack];
    // body(i, values at i) for each of this thread's packs.
    const auto each = [&](const auto& body) {
        if constexpr (packs > 0) {
            group.template for_kept<pack, packs>(n.width, [&](std::int64_t i, int p) { body(i, kept[p]); });
        } else {
            group.template for_packs<pack>(n.width, [&](std::int64_t i) {
                load<pack>((n.added == nullptr ? n.x : n.sum) + first + i, kept[0]);
                body(i, kept[0]);
            });
        }
    };
    float total = 0;
    const auto read = [&](std::int64_t i, float(&v)[pack]) {
        load<pack>(n.x + first + i, v);
        if (n.added != nullptr) {
            float other[pack];
            load<pack>(n.added + first + i, other);
            for (int k = 0; k < pack; ++k) v[k] = widen(narrow<T>(v[k] + other[k]));
            store<pack>(n.sum + first + i, v);
        }
        for (int k = 0; k < pack; ++k) total += v[k];
    };
    if constexpr (packs > 0)
        each(read);
    else if (n.added != nullptr || centre == Centre::kMean)
        group.template for_packs<pack>(n.width, [&](std::int64_t i) { read(i, kept[0]); });
    const float count = static_cast<float>(n.width);
    const float mean = centre == Centre::kMean ? group.sum(total) / count : 0.0f;
    // The sum of the differences corrects the mean's rounding.
    float rest = 0, squares = 0;
    each([&](std::int64_t, const float(&v)[pack]) {
        for (int k = 0; k < pack; ++k) {
            const float d = v[k] - mean;
            rest += d;
            squares += d * d;
        }
    });
    const float correction = centre == Centre::kMean ? group.sum(rest) / count : 0.0f;
    const float variance = group.sum(squares) / count - correction * correction;
    const double spread = static_cast<double>(variance < 0 ? 0.0f : variance) + n.epsilon;
    const float rstd = static_cast<float>(1 / std::sqrt(spread));
    const float exact_mean = mean + correction;
    each([&](std::int64_t i, const float(&v)[pack]) {
        float y[pack], gain[pack], bias[pack] = {};
        load<pack>(n.gain + i, gain);
        if (n.bias != nullptr) load<pack>(n.bias + i, bias);
        for (int k = 0; k < pack; ++k) y[k] = (v[k] - exact_mean) * rstd * gain[k] + bias[k];
        store<pack>(n.y + first + i, y);
    });
    if (group.lane == 0) {
        if (n.mean != nullptr) n.mean[group.row] = exact_mean;
        n.rstd[group.row] = rstd;
    }
}

template <Centre centre, typename T>
void norm_forward(Device& device, const NormForward<T>& n) {
    with_kept_rows<kPerPack<T>, 32>(
        n.width, [&]<int lanes, int pack, int packs>(std::integral_constant<int, lanes>,
                                                     std::integral_constant<int, pack>,
                                                     std::integral_constant<int, packs>) {
            launch(device, row_launch<lanes>(n.rows), norm_forward_kernel<lanes, pack, packs, centre, T>, n);
        });
}

template <typename T>
struct NormBackward {
    const T *grad_y, *x;
    const T* other;  // added to grad_x, or null
    const float *gain, *mean, *rstd;
    T* grad_x;
    float *grad_gain, *grad_bias;  // grad_bias is null where there is none
    std::int64_t rows, width;
};

// grad_x = rstd (g - average(g) - xhat average(g xhat)) with g = grad_y gain; no first average without a
// centre.
template <int lanes, int pack, Centre centre, typename T>
MPT_KERNEL(kRowThreads)
void norm_backward_kernel(NormBackward<T> n) {
    const RowGroup<lanes> group;
    if (lanes == kLanes && group.row >= n.rows) return;
    const std::int64_t first = group.row * n.width;
    const float mean = centre == Centre::kMean ? n.mean[group.row] : 0.0f, rstd = n.rstd[group.row];
    float plain = 0, along = 0;
    group.template for_packs<pack>(n.width, [&](std::int64_t i) {
        float g[pack], x[pack], gain[pack];
        load<pack>(n.grad_y + first + i, g);
        load<pack>(n.x + first + i, x);
        load<pack>(n.gain + i, gain);
        for (int k = 0; k < pack; ++k) {
            plain += g[k] * gain[k];
            along += g[k] * gain[k] * ((x[k] - mean) * rstd);
        }
    });
    const float count = static_cast<float>(n.width);
    const float average = centre == Centre::kMean ? group.sum(plain) / count : 0.0f;
    const float slope = group.sum(along) / count;
    group.template for_packs<pack>(n.width, [&](std::int64_t i) {
        float g[pack], x[pack], gain[pack], other[pack] = {};
        load<pack>(n.grad_y + first + i, g);
        load<pack>(n.x + first + i, x);
        load<pack>(n.gain + i, gain);
        if (n.other != nullptr) load<pack>(n.other + first + i, other);
        for (int k = 0; k < pack; ++k)
            g[k] = rstd * (g[k] * gain[k] - average - (x[k] - mean) * rstd * slope) + other[k];
        store<pack>(n.grad_x + first + i, g);
    });
}

template <Centre centre>
constexpr int kNormTerms = centre == Centre::kMean ? 2 : 1;

// Writes a block's sums of each column; those of several rows at a time are added, one warp after the other.
template <int lanes, int pack, int packs, int terms>
MPT_DEVICE void leave_sums(const RowGroup<lanes>& group, std::int64_t width,
                           const float (&sums)[terms][packs][pack], float* partials) {
    if constexpr (lanes == kRowThreads) {
        MPT_UNROLL
        for (int t = 0; t < terms; ++t)
            group.template for_kept<pack, packs>(
                width, [&](std::int64_t i, int p) { store<pack>(partials + t * width + i, sums[t][p]); });
    } else {
        MPT_DYNAMIC_SHARED(float, of_block, terms* width);
        for (int warp = 0; warp < kRowThreads / lanes; ++warp) {
            if (thread_index() / lanes == warp)
                group.template for_kept<pack, packs>(width, [&](std::int64_t i, int p) {
                    MPT_UNROLL
                    for (int t = 0; t < terms; ++t) {
                        MPT_UNROLL
                        for (int k = 0; k < pack; ++k) {
                            const std::int64_t at = t * width + i + k;
                            of_block.put(at, (warp == 0 ? 0.0f : of_block.get(at)) + sums[t][p][k]);
                        }
                    }
                });
            sync_block();
        }
        for (std::int64_t i = thread_index(); i < terms * width; i += kRowThreads)
            partials[i] = of_block.get(i);
    }
}

// The same with everything read once: a row stays in registers, and each thread adds its columns' terms of
// the gains' gradients over all rows of its block, in their order.
template <int lanes, int pack, int packs, Centre centre, typename T>
MPT_KERNEL(kRowThreads)
void norm_backward_once_kernel(NormBackward<T> n, float* partials) {
    constexpr int kTerms = kNormTerms<centre>, kRowsAtOnce = kRowThreads / lanes;
    const RowGroup<lanes> group;
    float sums[kTerms][packs][pack] = {};
    for (std::int64_t row = group.row; row < n.rows; row += num_blocks() * kRowsAtOnce) {
        const std::int64_t first = row * n.width;
        const float mean = centre == Centre::kMean ? n.mean[row] : 0.0f, rstd = n.rstd[row];
        float g[packs][pack], x[packs][pack];
        group.template for_kept<pack, packs>(n.width, [&](std::int64_t i, int p) {
            load<pack>(n.grad_y + first + i, g[p]);
            load<pack>(n.x + first + i, x[p]);
        });
        float plain = 0, along = 0;
        group.template for_kept<pack, packs>(n.width, [&](std::int64_t i, int p) {
            float gain[pack];
            load<pack>(n.gain + i, gain);
            MPT_UNROLL
            for (int k = 0; k < pack; ++k) {
                x[p][k] = (x[p][k] - mean) * rstd;
                sums[0][p][k] += g[p][k] * x[p][k];
                if constexpr (kTerms > 1) sums[1][p][k] += g[p][k];
                g[p][k] *= gain[k];
                plain += g[p][k];
                along += g[p][k] * x[p][k];
            }
        });
        const float count = static_cast<float>(n.width);
        const float average = centre == Centre::kMean ? group.sum(plain) / count : 0.0f;
        const float slope = group.sum(along) / count;
        group.template for_kept<pack, packs>(n.width, [&](std::int64_t i, int p) {
            float other[pack] = {};
            if (n.other != nullptr) load<pack>(n.other + first + i, other);
            MPT_UNROLL
            for (int k = 0; k < pack; ++k) g[p][k] = rstd * (g[p][k] - average - x[p][k] * slope) + other[k];
            store<pack>(n.grad_x + first + i, g[p]);
        });
    }
    leave_sums(group, n.width, sums, partials + block_index() * kTerms * n.width);
}

// Blocks that share the rows where each row is read once, and what they leave to be added.
template <int lanes>
ColumnTiles once_tiles(const Device& device, std::int64_t rows, std::int64_t width) {
    ColumnTiles tiles;
    tiles.rows = rows;
    tiles.columns = width;
    tiles.slabs = std::min<std::int64_t>(std::int64_t{device.info().num_sms} * 4,
                                         blocks_for(rows, kRowThreads / lanes));
    return tiles;
}

template <Centre centre>
struct NormTerms {
    static constexpr int kTerms = kNormTerms<centre>;
    static constexpr bool kStores = false;
    using Column = NoColumn;
    const float *mean, *rstd;
    MPT_DEVICE Column column(std::int64_t) const { return {}; }
    MPT_DEVICE float operator()(std::int64_t row, const Column&, float (&terms)[kTerms], float grad_y,
                                float x) const {
        const float centred = centre == Centre::kMean ? x - mean[row] : x;
        terms[0] = grad_y * centred * rstd[row];
        if constexpr (centre == Centre::kMean) terms[1] = grad_y;
        return 0;
    }
};

template <Centre centre, typename T>
void norm_backward(Device& device, const NormBackward<T>& n, void* workspace) {
    constexpr int kTerms = kNormTerms<centre>;
    StoreSums<kTerms> store_sums;
    store_sums.to[0] = n.grad_gain;
    if constexpr (centre == Centre::kMean) store_sums.to[1] = n.grad_bias;
    auto* partials = static_cast<float*>(workspace);
    with_kept_rows<kPerPack<T>, 24, 32>(
        n.width, [&]<int lanes, int pack, int packs>(std::integral_constant<int, lanes>,
                                                     std::integral_constant<int, pack>,
                                                     std::integral_constant<int, packs>) {
            if constexpr (packs > 0) {
                const ColumnTiles tiles = once_tiles<lanes>(device, n.rows, n.width);
                const auto of_block = static_cast<std::size_t>(kTerms * n.width) * sizeof(float);
                launch(device,
                       {.blocks = tiles.slabs,
                        .threads = kRowThreads,
                        .shared_bytes = lanes == kLanes ? of_block : 0},
                       norm_backward_once_kernel<lanes, pack, packs, centre, T>, n, partials);
                finish_column_sums<kTerms>(device, tiles, store_sums, partials);
            } else {
                // The gains' gradients first: grad_x may take the place of what they read.
                column_sums(device, n.rows, n.width, NormTerms<centre>{n.mean, n.rstd}, store_sums, workspace,
                            static_cast<float*>(nullptr), n.grad_y, n.x);
                launch(device, row_launch<lanes>(n.rows), norm_backward_kernel<lanes, pack, centre, T>, n);
            }
        });
}

// layer_norm_backward: (grad_y, x, gain, mean, rstd) -> grad_x, grad_gain, grad_bias; rms_norm_backward:
// (grad_y, x, gain, rstd) -> grad_x, grad_gain. Input `other`, where there is one, is added to grad_x.
template <Centre centre, int other = -1>
void run_norm_backward(const Call& s, const KernelArgs& a) {
    with_storage(s.in(0).dtype, [&]<typename T>(T) {
        NormBackward<T> n{};
        n.grad_y = a.in<T>(0);
        n.x = a.in<T>(1);
        if constexpr (other >= 0) n.other = a.in<T>(other);
        n.gain = a.in<float>(2);
        if constexpr (centre == Centre::kMean) n.mean = a.in<float>(3);
        n.rstd = a.in<float>(centre == Centre::kMean ? 4 : 3);
        n.grad_x = a.out<T>(0);
        n.grad_gain = a.out<float>(1);
        if constexpr (centre == Centre::kMean) n.grad_bias = a.out<float>(2);
        n.width = s.in(0).shape[-1];
        n.rows = elements_of(s) / n.width;
        norm_backward<centre>(*s.device, n, a.workspace);
    });
}

// Of the partial sums, whichever way a row's length asks for.
template <Centre centre>
std::size_t norm_sums_bytes(const Call& s) {
    const std::int64_t width = s.in(0).shape[-1], rows = s.in(0).shape.num_elements() / width;
    const std::int64_t slabs = once_tiles<kRowThreads>(*s.device, rows, width).slabs;
    const auto of_slabs = static_cast<std::size_t>(slabs * width * kNormTerms<centre>) * sizeof(float);
    return std::max(of_slabs, column_sums_bytes(*s.device, rows, width, kNormTerms<centre>));
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

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

template <int lanes, int pack, Centre centre, typename T>
MPT_KERNEL(kRowThreads)
void norm_forward_kernel(NormForward<T> n) {
    const RowGroup<lanes> group;
    if (lanes == kLanes && group.row >= n.rows) return;
    const std::int64_t first = group.row * n.width;
    const T* x = n.added == nullptr ? n.x : n.sum;
    float total = 0;
    if (n.added != nullptr || centre == Centre::kMean)
        group.template for_packs<pack>(n.width, [&](std::int64_t i) {
            float v[pack], other[pack];
            load<pack>(n.x + first + i, v);
            if (n.added != nullptr) {
                load<pack>(n.added + first + i, other);
                for (int k = 0; k < pack; ++k) v[k] = widen(narrow<T>(v[k] + other[k]));
                store<pack>(n.sum + first + i, v);
            }
            for (int k = 0; k < pack; ++k) total += v[k];
        });
    const float mean = centre == Centre::kMean ? group.sum(total) / static_cast<float>(n.width) : 0.0f;
    // The sum of the differences corrects the mean's rounding.
    float rest = 0, squares = 0;
    group.template for_packs<pack>(n.width, [&](std::int64_t i) {
        float v[pack];
        load<pack>(x + first + i, v);
        for (int k = 0; k < pack; ++k) {
            const float d = v[k] - mean;
            rest += d;
            squares += d * d;
        }
    });
    const float count = static_cast<float>(n.width);
    const float correction = centre == Centre::kMean ? group.sum(rest) / count : 0.0f;
    const float variance = group.sum(squares) / count - correction * correction;
    const double spread = static_cast<double>(variance < 0 ? 0.0f : variance) + n.epsilon;
    const float rstd = static_cast<float>(1 / std::sqrt(spread));
    const float exact_mean = mean + correction;
    group.template for_packs<pack>(n.width, [&](std::int64_t i) {
        float v[pack], gain[pack], bias[pack] = {};
        load<pack>(x + first + i, v);
        load<pack>(n.gain + i, gain);
        if (n.bias != nullptr) load<pack>(n.bias + i, bias);
        for (int k = 0; k < pack; ++k) v[k] = (v[k] - exact_mean) * rstd * gain[k] + bias[k];
        store<pack>(n.y + first + i, v);
    });
    if (group.lane == 0) {
        if (n.mean != nullptr) n.mean[group.row] = exact_mean;
        n.rstd[group.row] = rstd;
    }
}

template <Centre centre, typename T>
void norm_forward(Device& device, const NormForward<T>& n) {
    with_row_shape<kPerPack<T>>(n.width, [&]<int lanes, int pack>(std::integral_constant<int, lanes>,
                                                                  std::integral_constant<int, pack>) {
        launch(device, row_launch<lanes>(n.rows), norm_forward_kernel<lanes, pack, centre, T>, n);
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
struct NormTerms {
    static constexpr int kTerms = centre == Centre::kMean ? 2 : 1;
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

// The gains' gradients first: grad_x may take the place of what they read.
template <Centre centre, typename T>
void norm_backward(Device& device, const NormBackward<T>& n, void* workspace) {
    const NormTerms<centre> terms{n.mean, n.rstd};
    StoreSums<NormTerms<centre>::kTerms> store_sums;
    store_sums.to[0] = n.grad_gain;
    if constexpr (centre == Centre::kMean) store_sums.to[1] = n.grad_bias;
    column_sums(device, n.rows, n.width, terms, store_sums, workspace, static_cast<float*>(nullptr), n.grad_y,
                n.x);
    with_row_shape<kPerPack<T>>(n.width, [&]<int lanes, int pack>(std::integral_constant<int, lanes>,
                                                                  std::integral_constant<int, pack>) {
        launch(device, row_launch<lanes>(n.rows), norm_backward_kernel<lanes, pack, centre, T>, n);
    });
}

// layer_norm_backward: (grad_y, x, gain, mean, rstd) -> grad_x, grad_gain, grad_bias. Input `other`, where
// there is one, is added to grad_x.
template <int other = -1>
void run_layer_norm_backward(const Call& s, const KernelArgs& a) {
    with_storage(s.in(0).dtype, [&]<typename T>(T) {
        NormBackward<T> n{};
        n.grad_y = a.in<T>(0);
        n.x = a.in<T>(1);
        if constexpr (other >= 0) n.other = a.in<T>(other);
        n.gain = a.in<float>(2);
        n.mean = a.in<float>(3);
        n.rstd = a.in<float>(4);
        n.grad_x = a.out<T>(0);
        n.grad_gain = a.out<float>(1);
        n.grad_bias = a.out<float>(2);
        n.width = s.in(0).shape[-1];
        n.rows = elements_of(s) / n.width;
        norm_backward<Centre::kMean>(*s.device, n, a.workspace);
    });
}

inline std::size_t layer_norm_sums_bytes(const Call& s) {
    const std::int64_t width = s.in(0).shape[-1];
    return column_sums_bytes(*s.device, s.in(0).shape.num_elements() / width, width, 2);
}

// rms_norm_backward: (grad_y, x, gain, rstd) -> grad_x, grad_gain; `other` as above.
template <int other = -1>
void run_rms_norm_backward(const Call& s, const KernelArgs& a) {
    with_storage(s.in(0).dtype, [&]<typename T>(T) {
        NormBackward<T> n{};
        n.grad_y = a.in<T>(0);
        n.x = a.in<T>(1);
        if constexpr (other >= 0) n.other = a.in<T>(other);
        n.gain = a.in<float>(2);
        n.rstd = a.in<float>(3);
        n.grad_x = a.out<T>(0);
        n.grad_gain = a.out<float>(1);
        n.width = s.in(0).shape[-1];
        n.rows = elements_of(s) / n.width;
        norm_backward<Centre::kZero>(*s.device, n, a.workspace);
    });
}

inline std::size_t rms_norm_sums_bytes(const Call& s) {
    const std::int64_t width = s.in(0).shape[-1];
    return column_sums_bytes(*s.device, s.in(0).shape.num_elements() / width, width, 1);
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

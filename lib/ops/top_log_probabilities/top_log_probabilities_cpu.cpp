#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ops/log_softmax/log_softmax.h"
#include "ops/simd_kernel.h"
#include "ops/top_log_probabilities/top_log_probabilities.h"

namespace mpt {

namespace {

constexpr std::int64_t kBlock = 512;  // terms that are summed in f32

template <typename T>
float greatest_of(const T* z, std::int64_t classes) {
    const __m256 least = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
    __m256 greatest = least;
    simd::for_lanes(0, classes, [&](std::int64_t c, auto lanes) {
        __m256 v = simd::load(z + c, lanes);
        if constexpr (std::is_same_v<decltype(lanes), simd::Some>)
            v = _mm256_blendv_ps(least, v, _mm256_castsi256_ps(simd::mask_of(lanes)));
        greatest = _mm256_max_ps(greatest, v);
    });
    alignas(32) float lane[simd::kLanes];
    _mm256_store_ps(lane, greatest);
    return *std::max_element(lane, lane + simd::kLanes);
}

// NaN when any of them is.
template <typename T>
double sum_of_exponentials(const T* z, std::int64_t classes, float greatest) {
    const __m256 shift = _mm256_set1_ps(greatest);
    double sum = 0;
    for (std::int64_t begin = 0; begin < classes; begin += kBlock) {
        __m256 block = _mm256_setzero_ps();
        simd::for_lanes(begin, std::min(begin + kBlock, classes), [&](std::int64_t c, auto lanes) {
            __m256 p = simd::exp_of_negative(_mm256_sub_ps(simd::load(z + c, lanes), shift));
            if constexpr (std::is_same_v<decltype(lanes), simd::Some>)
                p = _mm256_and_ps(p, _mm256_castsi256_ps(simd::mask_of(lanes)));
            block = _mm256_add_ps(block, p);
        });
        sum += simd::sum_of(block);
    }
    return sum;
}

// The greatest so far, falling, in the memory of the outputs.
struct Top {
    float* values;
    std::int32_t* indices;
    std::int64_t count;

    float least() const { return values[count - 1]; }
    void insert(float value, std::int32_t index) {
        std::int64_t at = count - 1;
        for (; at > 0 && value > values[at - 1]; --at) {
            values[at] = values[at - 1];
            indices[at] = indices[at - 1];
        }
        values[at] = value;
        indices[at] = index;
    }
};

template <typename T>
void find_top(const T* z, std::int64_t classes, Top top) {
    for (std::int64_t k = 0; k < top.count; ++k) {
        top.values[k] = -std::numeric_limits<float>::infinity();
        top.indices[k] = static_cast<std::int32_t>(k);
    }
    for (std::int64_t k = 0; k < top.count; ++k)
        if (const float v = static_cast<float>(z[k]); v > top.least())
            top.insert(v, static_cast<std::int32_t>(k));
    simd::for_lanes(top.count, classes, [&](std::int64_t c, auto lanes) {
        const __m256 above = _mm256_cmp_ps(simd::load(z + c, lanes), _mm256_set1_ps(top.least()), _CMP_GT_OQ);
        unsigned bits = static_cast<unsigned>(_mm256_movemask_ps(above));
        if constexpr (std::is_same_v<decltype(lanes), simd::Some>) bits &= (1u << lanes.count) - 1u;
        for (; bits != 0; bits &= bits - 1) {
            const std::int64_t index = c + std::countr_zero(bits);
            // The block's earlier ones may have raised the bar.
            if (const float v = static_cast<float>(z[index]); v > top.least())
                top.insert(v, static_cast<std::int32_t>(index));
        }
    });
}

template <typename T>
void run_row(const T* z, std::int64_t classes, Top top) {
    const float greatest = greatest_of(z, classes);
    const double log_sum = std::log(sum_of_exponentials(z, classes, greatest));
    find_top(z, classes, top);
    for (std::int64_t k = 0; k < top.count; ++k)
        top.values[k] = static_cast<float>(static_cast<double>(top.values[k] - greatest) - log_sum);
    if (!std::isnan(log_sum)) return;
    for (std::int64_t k = 0; k < top.count; ++k) top.indices[k] = static_cast<std::int32_t>(k);
}

void run_top_log_probabilities(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<TopLogProbabilitiesAttributes>();
    const std::int64_t rows = s.in(0).shape[0], columns = s.in(0).shape[1], count = attributes.count;
    const std::int64_t classes = num_classes(attributes.vocabulary, columns);
    const std::int64_t grain = std::max<std::int64_t>(1, simd::kGrain / columns);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        cpu::parallel_for(rows, grain, s.num_threads, [&](cpu::Range range, int) {
            for (std::int64_t row = range.begin; row < range.end; ++row)
                run_row(simd::input<T>(a, 0) + row * columns, classes,
                        {simd::output<float>(a, 0) + row * count,
                         simd::output<std::int32_t>(a, 1) + row * count, count});
        });
    });
}

}  // namespace

void register_top_log_probabilities_cpu(KernelTable& table) {
    table.add(simd::kernel<run_top_log_probabilities>(top_log_probabilities_op));
}

}  // namespace mpt

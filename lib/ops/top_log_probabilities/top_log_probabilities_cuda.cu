#include <cstdint>

#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/log_softmax/log_softmax.h"
#include "ops/top_log_probabilities/top_log_probabilities.h"

namespace mpt {

namespace {

constexpr int kThreads = gpu::kRowThreads;

struct Top {
    std::int64_t columns, classes, count;
    float* values;
    std::int32_t* indices;
};

// The greatest class that comes after (above, before) in the order of values falling, then indices rising.
template <int pack, typename T>
MPT_DEVICE void next_greatest(const gpu::RowGroup<kThreads>& group, const T* z, std::int64_t classes,
                              float& above, std::int32_t& before) {
    float best = -INFINITY;
    std::int32_t at = INT32_MAX;
    group.template for_packs<pack>(classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + i, v);
        for (int k = 0; k < pack; ++k) {
            const auto c = static_cast<std::int32_t>(i + k);
            const bool left = c < classes && (v[k] < above || (v[k] == above && c > before));
            if (left && (v[k] > best || at == INT32_MAX)) {
                best = v[k];
                at = c;
            }
        }
    });
    above = group.greatest(best);
    // A thread without a candidate says -INFINITY as well.
    before = -group.greatest(best == above ? -at : -INT32_MAX);
}

// A block a row. Beams are few: each of the `count` passes reads a row that the caches hold.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void top_kernel(Top top, const T* logits) {
    const gpu::RowGroup<kThreads> group;
    const T* z = logits + group.row * top.columns;
    float most = -INFINITY;
    group.template for_packs<pack>(top.classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + i, v);
        for (int k = 0; k < pack; ++k)
            if (i + k < top.classes) most = v[k] > most || v[k] != v[k] ? v[k] : most;
    });
    most = group.greatest(most);
    float sum = 0;
    group.template for_packs<pack>(top.classes, [&](std::int64_t i) {
        float v[pack];
        gpu::load<pack>(z + i, v);
        for (int k = 0; k < pack; ++k) sum += i + k < top.classes ? std::exp(v[k] - most) : 0.0f;
    });
    const float log_sum = std::log(group.sum(sum));
    float above = INFINITY;
    std::int32_t before = -1;
    for (std::int64_t k = 0; k < top.count; ++k) {
        if (most == most)
            next_greatest<pack>(group, z, top.classes, above, before);
        else
            above = most, before = static_cast<std::int32_t>(k);
        if (group.lane != 0) continue;
        top.values[group.row * top.count + k] = above - most - log_sum;
        top.indices[group.row * top.count + k] = before;
    }
}

void run_top_log_probabilities(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<TopLogProbabilitiesAttributes>();
    const std::int64_t rows = s.in(0).shape[0], columns = s.in(0).shape[1];
    const Top top{columns, num_classes(attributes.vocabulary, columns), attributes.count, a.out<float>(0),
                  a.out<std::int32_t>(1)};
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(columns, [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, {.blocks = rows, .threads = kThreads}, top_kernel<pack, T>, top,
                        a.in<T>(0));
        });
    });
}

}  // namespace

MPT_REGISTER_CUDA(top_log_probabilities)(KernelTable& table) {
    table.add(gpu::kernel<run_top_log_probabilities>(top_log_probabilities_op));
}

}  // namespace mpt

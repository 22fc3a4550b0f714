#include "ops/dropout/dropout_mask.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

using dropout_mask::kGroup;
using dropout_mask::Mask;

// Elements [begin, end), begin at the start of a group.
template <typename T>
void drop(const T* x, T* y, cpu::Range range, const Mask& mask) {
    for (std::int64_t first = range.begin; first < range.end; first += kGroup) {
        const dropout_mask::Words words = dropout_mask::draw(mask.numbers, first / kGroup);
        int word = 0;
        simd::for_lanes(first, std::min(range.end, first + kGroup), [&](std::int64_t i, auto lanes) {
            simd::store(y + i, mask.apply(simd::load(x + i, lanes), words.word[word++]), lanes);
        });
    }
}

void run_dropout(const Signature& s, const KernelArgs& a) {
    const Mask mask(s.attributes.as<DropoutAttributes>(), *simd::input<std::int32_t>(a, 1));
    static_assert(simd::kGrain % kGroup == 0);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* x = simd::input<T>(a, 0);
        T* y = simd::output<T>(a, 0);
        cpu::parallel_for(s.in(0).shape.num_elements(), simd::kGrain, s.num_threads,
                          [&](cpu::Range range, int) { drop(x, y, range, mask); });
    });
}

}  // namespace

void register_dropout_cpu(KernelTable& table) {
    table.add(simd::kernel<run_dropout>(dropout_op));
}

}  // namespace mpt

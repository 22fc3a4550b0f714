// How the CPU kernels of the update ops walk the flat regions: fixed blocks that never cross a segment, so
// that sums over blocks do not depend on the number of threads. For *_cpu.cpp files only (AVX2, F16C).
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/simd.h"
#include "backends/cpu/threads.h"
#include "core/float_formats.h"
#include "graph/kernel.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt::flat_walk {

inline constexpr std::int64_t kBlocks = 32;   // that a thread takes at a time
inline constexpr std::int64_t kBlock = 2048;  // elements: a block of every region fits the first caches

inline std::string refusal(const Signature&) {
    return cpu::instruction_set() >= cpu::InstructionSet::kAvx2 ? "" : "needs AVX2, FMA and F16C";
}

// mpt::saturated in lanes: an instruction whose second operand is NaN gives that, so NaN stays NaN.
inline __m256 saturated(__m256 x) {
    return _mm256_min_ps(_mm256_set1_ps(FLT_MAX), _mm256_max_ps(_mm256_set1_ps(-FLT_MAX), x));
}

struct Block {
    std::int64_t segment = 0, begin = 0, elements = 0;
    bool decayed = true;
};

// The blocks of all segments, in order, without a list of them: a plan of a model far too large for any
// memory must be small itself.
class Blocks {
  public:
    explicit Blocks(const SegmentTable& table) {
        for (const Segment& segment : table.all()) {
            segments_.push_back(segment);
            first_.push_back(size_);
            size_ += static_cast<std::size_t>((segment.elements + kBlock - 1) / kBlock);
        }
    }
    std::size_t size() const { return size_; }
    Block operator[](std::size_t index) const {
        const auto after = std::upper_bound(first_.begin(), first_.end(), index);
        const auto s = static_cast<std::size_t>(after - first_.begin()) - 1;
        const std::int64_t at = static_cast<std::int64_t>(index - first_[s]) * kBlock;
        const Segment& segment = segments_[s];
        return {static_cast<std::int64_t>(s), segment.offset + at, std::min(kBlock, segment.elements - at),
                segment.decayed};
    }

  private:
    std::vector<Segment> segments_;
    std::vector<std::size_t> first_;  // block of each segment
    std::size_t size_ = 0;
};

inline Blocks blocks_of(const SegmentTable& table) {
    return Blocks(table);
}

// The values of one narrow block as f32, and back (nearest even).
inline void widen(const void* source, DType dtype, std::int64_t begin, std::int64_t n, float* to) {
    const auto* from = static_cast<const std::uint16_t*>(source) + begin;
    std::int64_t i = 0;
    if (dtype == DType::bf16) {
        for (; i < n; ++i) to[i] = bf16_value(from[i]);
        return;
    }
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i,
                         _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
    for (; i < n; ++i) to[i] = f16_value(from[i]);
}

inline void narrow(const float* from, std::int64_t n, void* target, DType dtype, std::int64_t begin) {
    auto* to = static_cast<std::uint16_t*>(target) + begin;
    std::int64_t i = 0;
    if (dtype == DType::bf16) {
        for (; i < n; ++i) to[i] = bf16_bits(from[i]);
        return;
    }
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; ++i) to[i] = f16_bits(from[i]);
}

// The memory of one update op.
struct Regions {
    void* master = nullptr;
    float* gradient = nullptr;
    float* moment1 = nullptr;
    float* moment2 = nullptr;
    void* narrow = nullptr;
    DType master_dtype = DType::f32, narrow_dtype = DType::f16;
    std::int64_t elements = 0;
    StepControl control;
};

// In place: the outputs are the inputs' memory.
inline Regions regions_of(const UpdateSlots& slots, const Signature& s, const KernelArgs& a) {
    const auto memory = [&](int slot) { return slot != kNone && s.has(slot) ? a.out<void>(slot) : nullptr; };
    Regions r;
    r.master = memory(slots.master);
    r.gradient = static_cast<float*>(memory(slots.gradient));
    r.moment1 = static_cast<float*>(memory(slots.moment1));
    r.moment2 = static_cast<float*>(memory(slots.moment2));
    r.narrow = memory(slots.narrow);
    r.master_dtype = s.in(slots.master).dtype;
    if (r.narrow != nullptr) r.narrow_dtype = s.in(slots.narrow).dtype;
    r.elements = s.in(slots.master).shape.num_elements();
    std::memcpy(&r.control, a.in<void>(slots.control), sizeof r.control);
    return r;
}

// What a loop over one block sees; absent moments are null.
struct View {
    float* master = nullptr;
    float* gradient = nullptr;
    float* moment1 = nullptr;
    float* moment2 = nullptr;
    std::int64_t elements = 0;
    Block block;
};

enum class Masters { kRead, kWrite };

// Calls body(view, index of the block) for every block; writes masters (and their narrow copy) back if asked.
template <typename Body>
void for_each_block(const Regions& r, const Blocks& blocks, Masters masters, int num_threads,
                    const Body& body) {
    const auto run_block = [&](std::int64_t index, float* scratch) {
        const Block block = blocks[static_cast<std::size_t>(index)];
        const bool wide = r.master_dtype == DType::f32;
        float* master = wide ? static_cast<float*>(r.master) + block.begin : scratch;
        if (!wide) widen(r.master, r.master_dtype, block.begin, block.elements, master);
        body(View{master, r.gradient + block.begin, r.moment1 == nullptr ? nullptr : r.moment1 + block.begin,
                  r.moment2 == nullptr ? nullptr : r.moment2 + block.begin, block.elements, block},
             index);
        if (masters == Masters::kRead) return;
        if (!wide) {
            const float largest = largest_finite(r.master_dtype);
            for (std::int64_t i = 0; i < block.elements; ++i)
                master[i] = std::min(std::max(master[i], -largest), largest);
            narrow(master, block.elements, r.master, r.master_dtype, block.begin);
        }
        if (r.narrow != nullptr) narrow(master, block.elements, r.narrow, r.narrow_dtype, block.begin);
    };
    const auto num_blocks = static_cast<std::int64_t>(blocks.size());
    cpu::share_out(num_blocks, kBlocks, num_threads, [&](cpu::Range range, int) {
        alignas(64) float scratch[kBlock];
        for (std::int64_t i = range.begin; i < range.end; ++i) run_block(i, scratch);
    });
}

// Sums of squares of one block, and of whole segments from them.
struct Squares {
    double master = 0, other = 0;
};

inline double squares(const float* x, std::int64_t n) {
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256d a = _mm256_cvtps_pd(_mm_loadu_ps(x + i)), b = _mm256_cvtps_pd(_mm_loadu_ps(x + i + 4));
        low = _mm256_fmadd_pd(a, a, low);
        high = _mm256_fmadd_pd(b, b, high);
    }
    alignas(32) double lanes[4];
    _mm256_store_pd(lanes, _mm256_add_pd(low, high));
    double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
}

inline std::vector<Squares> by_segment(const Blocks& blocks, const Squares* of_block,
                                       std::int64_t num_segments) {
    std::vector<Squares> sums(static_cast<std::size_t>(num_segments));
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        Squares& sum = sums[static_cast<std::size_t>(blocks[b].segment)];
        sum.master += of_block[b].master;
        sum.other += of_block[b].other;
    }
    return sums;
}

// What remains to do of a skipped update.
inline void zero_gradient(const Regions& r, int num_threads) {
    cpu::parallel_for(r.elements, kBlock, num_threads, [&](cpu::Range range, int) {
        std::memset(r.gradient + range.begin, 0,
                    static_cast<std::size_t>(range.end - range.begin) * sizeof(float));
    });
}

}  // namespace mpt::flat_walk

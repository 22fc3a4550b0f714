// How the GPU kernels of the update ops walk the flat regions: a block of threads for each block of a
// segment, which a small table on the device lists. For *_cuda.cu files only.
//
// A rule is a struct that is passed by value:
//   struct Factors {...};                                 scalars, worked out in f64 by one thread of a block
//   Factors factors(const StepControl&, bool decayed) const;
//   void step(const Factors&, float ratio, float g, float& w, float& m, float& v) const;   g is as stored
#pragma once

#include <cfloat>

#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kUpdateThreads = 256;
inline constexpr std::int64_t kUpdateBlock = 8192;  // elements: worth the factors that a block works out

struct UpdateBlock {
    std::int64_t begin = 0;
    std::int32_t elements = 0, segment = 0, decayed = 0, unused = 0;
};
// The blocks of a segment: [first, last).
struct UpdateSegment {
    std::int64_t first = 0, last = 0;
    std::int32_t decayed = 0, unused = 0;
};

struct UpdateTable {
    std::vector<UpdateBlock> blocks;
    std::vector<UpdateSegment> segments;
};
inline UpdateTable update_table(const SegmentTable& table) {
    UpdateTable t;
    for (const Segment& segment : table.all()) {
        UpdateSegment place;
        place.first = static_cast<std::int64_t>(t.blocks.size());
        place.decayed = segment.decayed ? 1 : 0;
        for (std::int64_t at = 0; at < segment.elements; at += kUpdateBlock)
            t.blocks.push_back({segment.offset + at,
                                static_cast<std::int32_t>(std::min(kUpdateBlock, segment.elements - at)),
                                static_cast<std::int32_t>(t.segments.size()), place.decayed, 0});
        place.last = static_cast<std::int64_t>(t.blocks.size());
        t.segments.push_back(place);
    }
    return t;
}

template <typename M, typename N>
struct UpdateRegions {
    M* master;
    float *gradient, *moment1, *moment2;  // absent moments are null
    N* narrow;                            // or null
    const StepControl* control;
    const UpdateBlock* blocks;
    float largest;  // finite value of M
};

// NaN stays NaN.
MPT_DEVICE float within(float x, float largest) {
    return x < -largest ? -largest : x > largest ? largest : x;
}
MPT_DEVICE float finite(float x) {
    return within(x, FLT_MAX);
}
MPT_DEVICE float finite(double x) {
    constexpr double kLargest = FLT_MAX;
    return static_cast<float>(x < -kLargest ? -kLargest : x > kLargest ? kLargest : x);
}

template <int pack, typename T>
MPT_DEVICE void load_or_zero(const T* from, std::int64_t at, float (&to)[pack]) {
    if (from != nullptr) load<pack>(from + at, to);
}

// One update of a block's elements; `ratios` a segment, or null: 1.
template <typename Rule, typename M, typename N>
MPT_KERNEL(kUpdateThreads)
void update_kernel(Rule rule, UpdateRegions<M, N> r, const float* ratios) {
    using Factors = typename Rule::Factors;
    MPT_SHARED(Factors, shared, 1);
    const UpdateBlock block = r.blocks[block_index()];
    const bool skip = r.control->skip != 0;
    if (thread_index() == 0) shared.put(0, rule.factors(*r.control, block.decayed != 0));
    sync_block();
    const Factors f = shared.get(0);
    const float ratio = ratios == nullptr ? 1.0f : ratios[block.segment];
    const auto run = [&]<int pack>(std::integral_constant<int, pack>, std::int64_t i) {
        const std::int64_t at = block.begin + i;
        float g[pack], w[pack], m[pack] = {}, v[pack] = {};
        const float zero[pack] = {};
        if (!skip) {
            load<pack>(r.gradient + at, g);
            load<pack>(r.master + at, w);
            load_or_zero<pack>(r.moment1, at, m);
            load_or_zero<pack>(r.moment2, at, v);
            MPT_UNROLL
            for (int k = 0; k < pack; ++k) {
                rule.step(f, ratio, g[k], w[k], m[k], v[k]);
                w[k] = within(w[k], r.largest);
            }
            store<pack>(r.master + at, w);
            if (r.moment1 != nullptr) store<pack>(r.moment1 + at, m);
            if (r.moment2 != nullptr) store<pack>(r.moment2 + at, v);
            if (r.narrow != nullptr) {
                MPT_UNROLL
                for (int k = 0; k < pack; ++k) w[k] = widen(narrow<M>(w[k]));
                store<pack>(r.narrow + at, w);
            }
        }
        store<pack>(r.gradient + at, zero);
    };
    constexpr int kPack = 4;
    const int packs = block.elements / kPack;
    for (int p = thread_index(); p < packs; p += kUpdateThreads)
        run(std::integral_constant<int, kPack>{}, std::int64_t{p} * kPack);
    if (const int i = packs * kPack + thread_index(); i < block.elements)
        run(std::integral_constant<int, 1>{}, i);
}

// Sums of squares of a segment's masters and of another quantity, from those of its blocks; then
// ratio = rule.ratio(norm of masters, norm of the other, control), 1 in exempt segments.
template <typename Rule>
MPT_KERNEL(kRowThreads)
void ratio_kernel(Rule rule, const UpdateSegment* segments, const double* squares, const StepControl* control,
                  float* ratios) {
    const UpdateSegment segment = segments[block_index()];
    double master = 0, other = 0;
    for (std::int64_t b = segment.first + thread_index(); b < segment.last; b += kRowThreads) {
        master += squares[2 * b];
        other += squares[2 * b + 1];
    }
    master = sum_block<kRowThreads>(master);
    other = sum_block<kRowThreads>(other);
    if (thread_index() == 0)
        ratios[block_index()] =
            segment.decayed != 0 ? finite(rule.ratio(std::sqrt(master), std::sqrt(other), *control)) : 1.0f;
}

// rule.measured(factors, g, w, m, v) -> what the second sum of squares is of; may move the moments.
template <typename Rule, typename M, typename N>
MPT_KERNEL(kUpdateThreads)
void measure_kernel(Rule rule, UpdateRegions<M, N> r, double* squares) {
    using Factors = typename Rule::Factors;
    MPT_SHARED(Factors, shared, 1);
    if (r.control->skip != 0) return;  // the same for every thread
    const UpdateBlock block = r.blocks[block_index()];
    if (thread_index() == 0) shared.put(0, rule.factors(*r.control, block.decayed != 0));
    sync_block();
    const Factors f = shared.get(0);
    double master = 0, other = 0;
    for (int i = thread_index(); i < block.elements; i += kUpdateThreads) {
        const std::int64_t at = block.begin + i;
        const float w = widen(r.master[at]);
        float m = r.moment1 == nullptr ? 0.0f : r.moment1[at],
              v = r.moment2 == nullptr ? 0.0f : r.moment2[at];
        const float measured = rule.measured(f, r.gradient[at], w, m, v);
        if (Rule::kMovesMoments) {
            r.moment1[at] = m;
            r.moment2[at] = v;
        }
        master += static_cast<double>(w) * static_cast<double>(w);
        other += static_cast<double>(measured) * static_cast<double>(measured);
    }
    master = sum_block<kUpdateThreads>(master);
    other = sum_block<kUpdateThreads>(other);
    if (thread_index() != 0) return;
    squares[2 * block_index()] = master;
    squares[2 * block_index() + 1] = other;
}

// Calls body(regions) with the types of the op's regions. In place: outputs are the inputs' memory.
template <typename Body>
void with_regions(const UpdateSlots& slots, const Call& s, const KernelArgs& a, const Memory& blocks,
                  const Body& body) {
    const auto memory = [&](int slot) { return slot != kNone && s.has(slot) ? a.out<void>(slot) : nullptr; };
    const auto run = [&]<typename M, typename N>(M, N) {
        body(UpdateRegions<M, N>{
            static_cast<M*>(memory(slots.master)), static_cast<float*>(memory(slots.gradient)),
            static_cast<float*>(memory(slots.moment1)), static_cast<float*>(memory(slots.moment2)),
            static_cast<N*>(memory(slots.narrow)), a.in<StepControl>(slots.control),
            reinterpret_cast<const UpdateBlock*>(blocks.data()), largest_finite(s.in(slots.master).dtype)});
    };
    const DType master = s.in(slots.master).dtype;
    const bool bf16_copy = s.has(slots.narrow) && s.in(slots.narrow).dtype == DType::bf16;
    if (master == DType::f16) return run(f16{}, f16{});
    if (master == DType::bf16) return run(bf16{}, bf16{});
    if (bf16_copy) return run(float{}, bf16{});
    run(float{}, f16{});
}

// An optimizer that needs no norms.
template <typename Rule>
PreparedKernel prepare_update(const Call& s, const UpdateSlots& slots, const Rule& rule,
                              const SegmentTable& segments) {
    const UpdateTable table = update_table(segments);
    const auto blocks = upload(*s.device, table.blocks);
    const auto count = static_cast<std::int64_t>(table.blocks.size());
    return {[s, slots, rule, blocks, count](const KernelArgs& a) {
                if (count == 0) return;
                with_regions(slots, s, a, *blocks, [&]<typename M, typename N>(const UpdateRegions<M, N>& r) {
                    launch(*s.device, {.blocks = count, .threads = kUpdateThreads}, update_kernel<Rule, M, N>,
                           rule, r, static_cast<const float*>(nullptr));
                });
            },
            0, "cuda"};
}

// An optimizer with a ratio a segment: measures, then updates.
template <typename Rule>
PreparedKernel prepare_layerwise(const Call& s, const UpdateSlots& slots, const Rule& rule,
                                 const SegmentTable& segments) {
    const UpdateTable table = update_table(segments);
    const auto blocks = upload(*s.device, table.blocks);
    const auto places = upload(*s.device, table.segments);
    const auto count = static_cast<std::int64_t>(table.blocks.size());
    const auto num_segments = static_cast<std::int64_t>(table.segments.size());
    const std::size_t squares_bytes = static_cast<std::size_t>(2 * count) * sizeof(double);
    return {[=](const KernelArgs& a) {
                if (count == 0) return;
                auto* squares = static_cast<double*>(a.workspace);
                auto* ratios = reinterpret_cast<float*>(static_cast<std::byte*>(a.workspace) + squares_bytes);
                with_regions(slots, s, a, *blocks, [&]<typename M, typename N>(const UpdateRegions<M, N>& r) {
                    launch(*s.device, {.blocks = count, .threads = kUpdateThreads},
                           measure_kernel<Rule, M, N>, rule, r, squares);
                    launch(*s.device, {.blocks = num_segments, .threads = kRowThreads}, ratio_kernel<Rule>,
                           rule, reinterpret_cast<const UpdateSegment*>(places->data()), squares, r.control,
                           ratios);
                    launch(*s.device, {.blocks = count, .threads = kUpdateThreads}, update_kernel<Rule, M, N>,
                           rule, r, ratios);
                });
            },
            squares_bytes + static_cast<std::size_t>(num_segments) * sizeof(float), "cuda, f64 norms"};
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

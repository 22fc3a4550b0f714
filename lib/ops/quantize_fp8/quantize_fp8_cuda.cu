// Three launches: the greatest magnitude of a tensor that has no scale yet (otherwise it ends at once), then
// scale, rounding, both copies and the greatest magnitude in one pass, then the state of the next use. No
// host is asked.
#include "backends/cuda/fp8_math.h"
#include "ops/cuda_kernel.h"
#include "ops/quantize_fp8/quantize_fp8.h"
#include "ops/quantize_fp8/scaling_rule.h"

namespace mpt {

namespace {

constexpr int kThreads = 256;
constexpr int kSide = 64;                    // of a tile
constexpr int kPack = 16;                    // elements a thread rounds: 16 bytes of fp8
constexpr int kPacksOfSide = kSide / kPack;  // kSide rows of them are the block's threads
constexpr int kWordsOfRow = kSide / 4 + 1;   // of shared memory; one more, so that columns lie in other banks

template <typename X, typename Q>
struct Task {
    const X* x;
    std::int64_t rows, columns, padded_rows;
    const float* state;
    Q *as_rows, *as_columns;  // null: not wanted
    float* inverse_scale;
    const float* first;  // greatest magnitudes, one a block, where there is no scale yet
    int num_first;
    float* found;  // the same, of this pass
    int margin;
};

MPT_DEVICE float greater_of(float a, float b) {
    return b > a || b != b ? b : a;
}

template <typename X>
MPT_KERNEL(kThreads)
void first_amax_kernel(const X* x, std::int64_t packs, const float* state, float* found) {
    if (state[scaling::kScale] != 0) return;
    float most = 0;
    const std::int64_t step = gpu::num_blocks() * gpu::num_threads();
    for (std::int64_t p = gpu::block_index() * gpu::num_threads() + gpu::thread_index(); p < packs;
         p += step) {
        float values[kPack];
        gpu::load<kPack>(x + p * kPack, values);
        MPT_UNROLL
        for (int i = 0; i < kPack; ++i) most = greater_of(most, fabsf(values[i]));
    }
    most = gpu::greatest_of_block<kThreads>(most);
    if (gpu::thread_index() == 0) found[gpu::block_index()] = most;
}

// The pack at the address as fp8, and the greatest magnitude of its elements and `most`.
template <typename Q, typename X>
MPT_DEVICE float quantize_pack(const X* x, float scale, float most, std::uint32_t (&words)[4]) {
    float values[kPack];
    gpu::load<kPack>(x, values);
    MPT_UNROLL
    for (int w = 0; w < kPack / 4; ++w) {
        const float* v = values + 4 * w;
        words[w] = gpu::fp8_pair<Q>(v[0] * scale, v[1] * scale) | gpu::fp8_pair<Q>(v[2] * scale, v[3] * scale)
                                                                      << 16;
    }
    MPT_UNROLL
    for (int i = 0; i < kPack; ++i) most = greater_of(most, fabsf(values[i]));
    return most;
}

template <typename X, typename Q>
MPT_KERNEL(kThreads)
void quantize_kernel(Task<X, Q> t) {
    MPT_SHARED(std::uint32_t, tile, kSide * kWordsOfRow);
    float amax = 0;
    if (t.state[scaling::kScale] == 0) {
        for (int i = gpu::thread_index(); i < t.num_first; i += kThreads) amax = greater_of(amax, t.first[i]);
        amax = gpu::greatest_of_block<kThreads>(amax);
    }
    const float scale = scaling::scale_now(t.state[scaling::kScale], amax, Q::kGreatest, t.margin);
    if (gpu::block_index() == 0 && gpu::thread_index() == 0) *t.inverse_scale = 1.0f / scale;

    const int down = gpu::thread_index() / kPacksOfSide, across = gpu::thread_index() % kPacksOfSide * kPack;
    const std::int64_t tiles_across = (t.columns + kSide - 1) / kSide;
    const std::int64_t tiles = tiles_across * ((t.padded_rows + kSide - 1) / kSide);
    float most = 0;
    for (std::int64_t number = gpu::block_index(); number < tiles; number += gpu::num_blocks()) {
        const std::int64_t row0 = number / tiles_across * kSide, column0 = number % tiles_across * kSide;
        const std::int64_t row = row0 + down, column = column0 + across;
        std::uint32_t words[4] = {0, 0, 0, 0};
        if (row < t.rows && column < t.columns) {
            most = quantize_pack<Q>(t.x + row * t.columns + column, scale, most, words);
            if (t.as_rows != nullptr) gpu::store_words(t.as_rows + row * t.columns + column, words);
        }
        if (t.as_columns == nullptr) continue;
        MPT_UNROLL
        for (int w = 0; w < 4; ++w) tile.put(down * kWordsOfRow + across / 4 + w, words[w]);
        gpu::sync_block();
        const std::int64_t out_row = column0 + down, out_column = row0 + across;
        if (out_row < t.columns && out_column < t.padded_rows) {
            std::uint32_t out[4] = {0, 0, 0, 0};
            MPT_UNROLL
            for (int i = 0; i < kPack; ++i) {
                const std::uint32_t word = tile.get((across + i) * kWordsOfRow + down / 4);
                out[i / 4] |= (word >> (8 * (down % 4)) & 0xffu) << (8 * (i % 4));
            }
            gpu::store_words(t.as_columns + out_row * t.padded_rows + out_column, out);
        }
        gpu::sync_block();
    }
    most = gpu::greatest_of_block<kThreads>(most);
    if (gpu::thread_index() == 0) t.found[gpu::block_index()] = most;
}

MPT_KERNEL(kThreads)
void next_scale_kernel(const float* found, int num_found, float* state, int history, float greatest,
                       int margin) {
    float amax = 0;
    for (int i = gpu::thread_index(); i < num_found; i += kThreads) amax = greater_of(amax, found[i]);
    amax = gpu::greatest_of_block<kThreads>(amax);
    if (!scaling::is_finite(amax)) return;
    const int next = static_cast<int>(state[scaling::kNext]);
    const float of_state = state[scaling::kScale];
    float most = amax;
    for (int i = gpu::thread_index(); i < history; i += kThreads)
        if (i != next) most = greater_of(most, state[scaling::kFirstAmax + i]);
    most = gpu::greatest_of_block<kThreads>(most);
    if (gpu::thread_index() != 0) return;
    state[scaling::kFirstAmax + next] = amax;
    state[scaling::kNext] = static_cast<float>((next + 1) % history);
    state[scaling::kScale] = scaling::scale_next(of_state, most, greatest, margin);
}

int num_blocks_of(const gpu::Call& s) {
    const Shape& x = s.in(0).shape;
    const std::int64_t tiles = gpu::blocks_for(x[0], kSide) * gpu::blocks_for(x[1], kSide);
    return static_cast<int>(gpu::blocks_for(*s.device, tiles, 1));
}

std::size_t workspace_bytes(const gpu::Call& s) {
    return 2 * sizeof(float) * static_cast<std::size_t>(num_blocks_of(s));
}

template <typename X, typename Q>
void run_typed(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<QuantizeFp8Attributes>();
    const Shape& shape = s.in(0).shape;
    const int blocks = num_blocks_of(s);
    auto* state = a.out<float>(0);
    auto* first = static_cast<float*>(a.workspace);
    const Task<X, Q> task = {a.in<X>(0),
                             shape[0],
                             shape[1],
                             padded_to_16(shape[0]),
                             state,
                             attributes.rows ? a.out<Q>(rows_output(attributes)) : nullptr,
                             attributes.columns ? a.out<Q>(columns_output(attributes)) : nullptr,
                             a.out<float>(1),
                             first,
                             blocks,
                             first + blocks,
                             attributes.margin};
    const gpu::Launch grid = {.blocks = blocks, .threads = kThreads};
    gpu::launch(*s.device, grid, first_amax_kernel<X>, task.x, shape.num_elements() / kPack, task.state,
                first);
    gpu::launch(*s.device, grid, quantize_kernel<X, Q>, task);
    gpu::launch(*s.device, {.blocks = 1, .threads = kThreads}, next_scale_kernel, task.found, blocks, state,
                static_cast<int>(s.in(1).shape[0] - scaling::kFirstAmax), Q::kGreatest, attributes.margin);
}

void run_quantize(const gpu::Call& s, const KernelArgs& a) {
    const bool gradient = s.attributes.as<QuantizeFp8Attributes>().format == DType::e5m2;
    gpu::with_storage(s.in(0).dtype, [&]<typename X>(X) {
        if (gradient)
            run_typed<X, e5m2>(s, a);
        else
            run_typed<X, e4m3>(s, a);
    });
}

std::string refusal(const Signature& s) {
    if (s.in(0).shape[1] % kPack != 0) return "needs rows of a multiple of 16 elements";
    return gpu::refusal(s);
}

}  // namespace

MPT_REGISTER_CUDA(quantize_fp8)(KernelTable& table) {
    table.add(gpu::kernel<run_quantize, workspace_bytes>(quantize_fp8_op, refusal));
}

}  // namespace mpt

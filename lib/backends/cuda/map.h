// Element-wise kernels: y[i] = f(x1[i], x2[i], ...), and the same with f32 vectors a channel (the last
// dimension).
#pragma once

#include "backends/cuda/device_math.h"
#include "core/error.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kMapThreads = 256;

template <int count, typename F, typename... X>
MPT_DEVICE void map_pack(const F& f, std::int64_t i, float (&y)[count], const X*... x) {
    auto one_by_one = [&](auto&... in) {
        MPT_UNROLL
        for (int k = 0; k < count; ++k) y[k] = f(i + k, in[k]...);
    };
    // An array for each input, filled by loads of 16 bytes.
    struct Inputs {
        float values[sizeof...(X) == 0 ? 1 : sizeof...(X)][count];
    } inputs;
    int next = 0;
    ((load<count>(x + i, inputs.values[next]), ++next), ...);
    [&]<std::size_t... index>(std::index_sequence<index...>) {
        one_by_one(inputs.values[index]...);
    }
    (std::index_sequence_for<X...>{});
}

// f(i, values...) -> float. Whole packs first; the last block's tail one by one.
template <typename F, typename Y, typename... X>
MPT_KERNEL(kMapThreads)
void map_kernel(F f, std::int64_t elements, Y* y, const X*... x) {
    constexpr int kPack = kPerPack<Y, X...>;
    const std::int64_t packs = elements / kPack;
    const std::int64_t first = block_index() * num_threads() + thread_index();
    for (std::int64_t p = first; p < packs; p += num_blocks() * num_threads()) {
        float out[kPack];
        map_pack<kPack>(f, p * kPack, out, x...);
        store<kPack>(y + p * kPack, out);
    }
    if (const std::int64_t i = packs * kPack + first; i < elements) {
        float out[1];
        map_pack<1>(f, i, out, x...);
        store<1>(y + i, out);
    }
}

// Addresses are multiples of 16 bytes, as the plan's are.
template <typename F, typename Y, typename... X>
void map(Device& device, std::int64_t elements, const F& f, Y* y, const X*... x) {
    if (elements == 0) return;
    constexpr int kPack = kPerPack<Y, X...>;
    launch(device,
           {.blocks = blocks_for(device, elements, kMapThreads * kPack),
            .threads = kMapThreads,
            .threads_meet = false},
           map_kernel<F, Y, X...>, f, elements, y, x...);
}

// f(vectors at the channel, values...) -> float; F::kVectors vectors of `channels` f32 each, F::vectors.
template <typename F, typename Y, typename... X>
MPT_KERNEL(kMapThreads)
void map_channels_kernel(F f, std::int64_t elements, std::int64_t channels, Y* y, const X*... x) {
    constexpr int kPack = kPerPack<Y, X...>;
    const std::int64_t packs = elements / kPack;
    const std::int64_t first = block_index() * num_threads() + thread_index();
    const bool aligned = channels % kPack == 0;
    // In 32 bits: a division of 64 takes longer than the data does, and its registers spill. Unaligned
    // channels begin anew every `channels` packs.
    const auto period = static_cast<std::uint32_t>(aligned ? channels / kPack : channels);
    for (std::int64_t p = first; p < packs; p += num_blocks() * num_threads()) {
        std::uint32_t channel = static_cast<std::uint32_t>(p) % period * kPack;
        if (!aligned) channel %= static_cast<std::uint32_t>(channels);
        float of_channel[F::kVectors][kPack];
        MPT_UNROLL
        for (int v = 0; v < F::kVectors; ++v) {
            if (aligned) {
                load<kPack>(f.vectors[v] + channel, of_channel[v]);
            } else {
                std::int64_t c = channel;
                MPT_UNROLL
                for (int k = 0; k < kPack; ++k) {
                    of_channel[v][k] = f.vectors[v][c];
                    if (++c == channels) c = 0;
                }
            }
        }
        float out[kPack];
        map_pack<kPack>(
            [&](std::int64_t i, auto... values) {
                float at[F::kVectors];
                for (int v = 0; v < F::kVectors; ++v) at[v] = of_channel[v][i - p * kPack];
                return f(at, values...);
            },
            p * kPack, out, x...);
        store<kPack>(y + p * kPack, out);
    }
    if (const std::int64_t i = packs * kPack + first; i < elements) {
        // From the end of a row, of which there may be several in the tail.
        std::int64_t channel = channels - (elements - i);
        while (channel < 0) channel += channels;
        float at[F::kVectors];
        for (int v = 0; v < F::kVectors; ++v) at[v] = f.vectors[v][channel];
        float out[1];
        map_pack<1>([&](std::int64_t, auto... values) { return f(at, values...); }, i, out, x...);
        store<1>(y + i, out);
    }
}

template <typename F, typename Y, typename... X>
void map_channels(Device& device, std::int64_t elements, std::int64_t channels, const F& f, Y* y,
                  const X*... x) {
    if (elements == 0) return;
    constexpr int kPack = kPerPack<Y, X...>;
    MPT_CHECK(elements / kPack <= std::int64_t{0xffffffff}, "more than 2^32 packs in one tensor");
    MPT_CHECK(channels <= std::int64_t{0xffffffff} / kPack, "too many channels");
    launch(device,
           {.blocks = blocks_for(device, elements, kMapThreads * kPack),
            .threads = kMapThreads,
            .threads_meet = false},
           map_channels_kernel<F, Y, X...>, f, elements, channels, y, x...);
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

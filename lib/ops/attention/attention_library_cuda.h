// Attention by the device's library (cuDNN). For attention_cuda.cu only.
#pragma once

#include "ops/attention/attention_rows_cuda.h"
#include "ops/cuda_kernel.h"

namespace mpt::gpu {
inline namespace MPT_GPU_BUILD {

inline constexpr int kLengthThreads = 128;

// The library's lengths: 1 or more keys, and all queries.
MPT_KERNEL(kLengthThreads)
void library_lengths_kernel(std::int64_t batch, std::int32_t queries, std::int32_t keys,
                            const std::int32_t* lengths, std::int32_t* of_queries, std::int32_t* of_keys) {
    for (std::int64_t b = thread_index(); b < batch; b += kLengthThreads) {
        const std::int32_t length = lengths[b] < keys ? lengths[b] : keys;
        of_queries[b] = queries;
        of_keys[b] = length < 1 ? 1 : length;
    }
}

// Zero for the batches that have no key, `blocks` blocks each.
template <typename T>
MPT_KERNEL(kLengthThreads)
void clear_empty_kernel(const std::int32_t* lengths, std::int64_t blocks, std::int64_t elements, T* data) {
    const std::int64_t b = block_index() / blocks;
    if (lengths[b] > 0) return;
    for (std::int64_t i = block_index() % blocks * kLengthThreads + thread_index(); i < elements;
         i += blocks * kLengthThreads)
        data[b * elements + i] = narrow<T>(0.0f);
}

inline AttentionSpec library_attention(const Signature& s, bool backward) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const std::span<const TensorType> inputs(s.inputs);
    const auto& attributes = s.attributes.as<AttentionAttributes>();
    const AttentionExtent e(layout, backward ? inputs.subspan(1) : inputs, attributes);
    AttentionSpec spec;
    spec.backward = backward;
    spec.batch = e.batch, spec.heads = e.heads, spec.queries = e.queries, spec.keys = e.keys;
    spec.size = e.size;
    spec.q_row = e.row(layout.places[0]);
    spec.k_row = e.row(layout.places[1]);
    spec.v_row = e.row(layout.places[2]);
    spec.causal = attributes.causal;
    spec.lengths = s.has(layout.num_tensors + (backward ? 3 : 0));
    spec.dtype = s.in(0).dtype;
    return spec;
}

inline std::string library_attention_refusal(const Signature& s) {
    const std::string why = refusal(s);
    if (!why.empty()) return why;
    const AttentionSpec spec = library_attention(s, s.op->name.ends_with("_backward"));
    if (s.attributes.as<AttentionAttributes>().dropout.probability != 0)
        return "draws other numbers for dropout than the CPU";
    if (spec.causal && spec.queries != spec.keys) return "takes causal attention of as many keys as queries";
    if (spec.size % 8 != 0) return "takes heads of a multiple of 8";
    return current_device() == nullptr ? "needs a device" : current_device()->plan_attention(spec).refusal;
}

// Where q, k and v, or their gradients, begin.
inline std::array<void*, 3> library_places(const AttentionLayout& layout, const AttentionSpec& spec,
                                           std::span<void* const> tensors, std::size_t first) {
    std::array<void*, 3> places{};
    for (std::size_t i = 0; i < 3; ++i) {
        const AttentionLayout::Place& p = layout.places[i];
        auto* data = static_cast<std::byte*>(tensors[first + static_cast<std::size_t>(p.tensor)]);
        places[i] = data + static_cast<std::size_t>(p.part * spec.heads * spec.size) * size_of(spec.dtype);
    }
    return places;
}

inline void clear_empty(const Call& s, const std::int32_t* lengths, std::int64_t batch, int output,
                        void* data) {
    const std::int64_t elements = s.out(output).shape.num_elements() / batch;
    const std::int64_t blocks = blocks_for(*s.device, elements, kLengthThreads);
    const Launch shape = {.blocks = batch * blocks, .threads = kLengthThreads, .threads_meet = false};
    with_storage(s.out(output).dtype, [&]<typename T>(T) {
        launch(*s.device, shape, clear_empty_kernel<T>, lengths, blocks, elements, static_cast<T*>(data));
    });
}

inline PreparedKernel prepare_library_attention(const Signature& signature) {
    const Call s(signature);
    const bool backward = s.op->name.ends_with("_backward");
    const AttentionSpec spec = library_attention(s, backward);
    const Planned<AttentionArgs> plan = s.device->plan_attention(spec);
    const std::size_t lengths_bytes =
        spec.lengths ? (static_cast<std::size_t>(spec.batch) * sizeof(std::int32_t) + 255) / 256 * 256 : 0;
    return {[s, spec, plan, backward, lengths_bytes](const KernelArgs& a) {
                const AttentionLayout& layout = attention_layout(*s.op);
                const int n = layout.num_tensors;
                auto* workspace = static_cast<std::byte*>(a.workspace);
                AttentionArgs args;
                const auto data = library_places(layout, spec, a.inputs, backward ? 1 : 0);
                args.q = data[0], args.k = data[1], args.v = data[2];
                if (backward) {
                    const auto grads = library_places(layout, spec, a.outputs, 0);
                    args.grad_q = grads[0], args.grad_k = grads[1], args.grad_v = grads[2];
                    args.grad_o = a.inputs[0];
                    args.o = a.inputs[static_cast<std::size_t>(n + 1)];
                    args.logsumexp = static_cast<float*>(a.inputs[static_cast<std::size_t>(n + 2)]);
                } else {
                    args.o = a.outputs[0];
                    args.logsumexp = a.out<float>(1);
                }
                args.workspace = workspace + 2 * lengths_bytes;
                const std::int32_t* lengths = nullptr;
                if (spec.lengths) {
                    lengths = a.in<std::int32_t>(n + (backward ? 3 : 0));
                    auto* of_queries = reinterpret_cast<std::int32_t*>(workspace);
                    auto* of_keys = reinterpret_cast<std::int32_t*>(workspace + lengths_bytes);
                    launch(*s.device, {.threads = kLengthThreads, .threads_meet = false},
                           library_lengths_kernel, spec.batch, static_cast<std::int32_t>(spec.queries),
                           static_cast<std::int32_t>(spec.keys), lengths, of_queries, of_keys);
                    args.query_lengths = of_queries;
                    args.key_lengths = of_keys;
                }
                plan.run(args);
                for (std::size_t o = 0; spec.lengths && o < s.outputs.size(); ++o)
                    clear_empty(s, lengths, spec.batch, static_cast<int>(o), a.outputs[o]);
            },
            2 * lengths_bytes + plan.workspace_bytes, plan.description};
}

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

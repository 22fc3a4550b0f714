#include "ops/cuda_kernel.h"
#include "ops/embedding/embedding.h"

namespace mpt {

namespace {

constexpr int kThreads = 128;

// A block for each token; an id outside the table gives NaN, which the finite check tells.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void forward_kernel(std::int64_t rows, std::int64_t width, std::int64_t padding, const std::int32_t* ids,
                    const T* table, T* y) {
    const std::int64_t token = gpu::block_index(), row = ids[token];
    const bool known = row >= 0 && row < rows;
    for (std::int64_t c = gpu::thread_index() * std::int64_t{pack}; c < width;
         c += std::int64_t{kThreads} * pack) {
        float v[pack];
        if (known && row != padding) {
            gpu::load<pack>(table + row * width + c, v);
        } else {
            for (int k = 0; k < pack; ++k) v[k] = known ? 0.0f : NAN;
        }
        gpu::store<pack>(y + token * width + c, v);
    }
}

// The next token with the same id, or -1: chains in the order of tokens.
MPT_KERNEL(kThreads)
void chain_kernel(std::int64_t tokens, const std::int32_t* ids, std::int32_t* next,
                  std::int32_t* has_earlier) {
    const std::int64_t t = gpu::block_index() * kThreads + gpu::thread_index();
    if (t >= tokens) return;
    const std::int32_t id = ids[t];
    std::int64_t later = t + 1;
    while (later < tokens && ids[later] != id) ++later;
    next[t] = later < tokens ? static_cast<std::int32_t>(later) : -1;
    if (later < tokens) has_earlier[later] = 1;
}

// A block for each first token of a chain adds the chain's rows to what the table's row holds.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void backward_kernel(std::int64_t rows, std::int64_t width, std::int64_t padding, const T* grad_y,
                     const std::int32_t* ids, const std::int32_t* next, const std::int32_t* has_earlier,
                     float* grad_table) {
    const std::int64_t token = gpu::block_index(), row = ids[token];
    if (has_earlier[token] != 0 || row == padding || row < 0 || row >= rows) return;
    for (std::int64_t c = gpu::thread_index() * std::int64_t{pack}; c < width;
         c += std::int64_t{kThreads} * pack) {
        float sums[pack];
        gpu::load<pack>(grad_table + row * width + c, sums);
        for (std::int64_t t = token; t >= 0; t = next[t]) {
            float v[pack];
            gpu::load<pack>(grad_y + t * width + c, v);
            for (int k = 0; k < pack; ++k) sums[k] += v[k];
        }
        gpu::store<pack>(grad_table + row * width + c, sums);
    }
}

template <typename T, typename Run>
void with_pack(std::int64_t width, const Run& run) {
    if (width % gpu::kPerPack<T> == 0)
        run(std::integral_constant<int, gpu::kPerPack<T>>{});
    else
        run(std::integral_constant<int, 1>{});
}

void run_embedding(const gpu::Call& s, const KernelArgs& a) {
    const Shape& table = s.in(1).shape;
    const std::int64_t tokens = s.in(0).shape.num_elements();
    gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        with_pack<T>(table[1], [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, {.blocks = tokens, .threads = kThreads, .threads_meet = false},
                        forward_kernel<pack, T>, table[0], table[1],
                        s.attributes.as<EmbeddingAttributes>().padding_id, a.in<std::int32_t>(0), a.in<T>(1),
                        a.out<T>(0));
        });
    });
}

// With `buffer` 1 input 0 is what the gradient is added to, in its memory.
template <int buffer>
void run_embedding_backward(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<EmbeddingBackwardAttributes>();
    const std::int64_t tokens = s.in(buffer + 1).shape.num_elements(), width = s.out(0).shape[1];
    auto* next = static_cast<std::int32_t*>(a.workspace);
    std::int32_t* has_earlier = next + tokens;
    if (buffer == 0) s.device->fill_zero(a.out<float>(0), static_cast<std::size_t>(s.out(0).bytes()));
    s.device->fill_zero(has_earlier, static_cast<std::size_t>(tokens) * sizeof(std::int32_t));
    gpu::launch(*s.device,
                {.blocks = gpu::blocks_for(tokens, kThreads), .threads = kThreads, .threads_meet = false},
                chain_kernel, tokens, a.in<std::int32_t>(buffer + 1), next, has_earlier);
    gpu::with_storage(s.in(buffer).dtype, [&]<typename T>(T) {
        with_pack<T>(width, [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, {.blocks = tokens, .threads = kThreads, .threads_meet = false},
                        backward_kernel<pack, T>, s.out(0).shape[0], width, attributes.padding_id,
                        a.in<T>(buffer), a.in<std::int32_t>(buffer + 1), next, has_earlier, a.out<float>(0));
        });
    });
}

template <int buffer>
std::size_t chain_bytes(const gpu::Call& s) {
    return 2 * static_cast<std::size_t>(s.in(buffer + 1).shape.num_elements()) * sizeof(std::int32_t);
}

}  // namespace

MPT_REGISTER_CUDA(embedding)(KernelTable& table) {
    table.add(gpu::kernel<run_embedding>(embedding_op));
    table.add(gpu::kernel<run_embedding_backward<0>, chain_bytes<0>>(embedding_backward_op));
    table.add(gpu::kernel<run_embedding_backward<1>, chain_bytes<1>>(embedding_backward_accumulate_op));
}

}  // namespace mpt

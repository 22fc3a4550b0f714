#include "ops/cuda_kernel.h"
#include "ops/embedding/embedding.h"
#include "ops/embedding/token_order_cuda.h"

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

constexpr std::int64_t kChunk = 16;  // tokens that a block sums

// Tokens in their rows' order, in chunks. A row's terms lie in one chunk or in several after each other.
struct Chunks {
    std::int64_t tokens, width;
    const gpu::TokenKey* order;

    MPT_DEVICE std::int64_t begin(std::int64_t chunk) const { return chunk * kChunk; }
    MPT_DEVICE std::int64_t end(std::int64_t chunk) const {
        return (chunk + 1) * kChunk < tokens ? (chunk + 1) * kChunk : tokens;
    }
    MPT_DEVICE bool same_row(std::int64_t i, std::int64_t j) const {
        return j < tokens && order[i].row() == order[j].row() && order[i].has_row();
    }
    // Whether the row of a chunk's first token began in an earlier one.
    MPT_DEVICE bool goes_on(std::int64_t chunk) const {
        return chunk > 0 && same_row(begin(chunk) - 1, begin(chunk));
    }
};

// Adds a chunk's terms to the rows that begin in it; those of a row that began earlier go to `carries`.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void chunk_kernel(Chunks chunks, const T* grad_y, float* carries, float* grad_table) {
    const std::int64_t chunk = gpu::block_index(), end = chunks.end(chunk), width = chunks.width;
    for (std::int64_t c = gpu::thread_index() * std::int64_t{pack}; c < width;
         c += std::int64_t{kThreads} * pack) {
        bool carried = chunks.goes_on(chunk);
        for (std::int64_t i = chunks.begin(chunk); i < end && chunks.order[i].has_row(); carried = false) {
            float* to = carried ? carries + chunk * width : grad_table + chunks.order[i].row() * width;
            float sums[pack] = {};
            if (!carried) gpu::load<pack>(to + c, sums);
            const std::int64_t first = i;
            for (; i < end && chunks.same_row(first, i); ++i) {
                float v[pack];
                gpu::load<pack>(grad_y + chunks.order[i].token() * width + c, v);
                MPT_UNROLL
                for (int k = 0; k < pack; ++k) sums[k] += v[k];
            }
            gpu::store<pack>(to + c, sums);
        }
    }
}

// Adds what chunks carried to the row that began before them.
template <int pack>
MPT_KERNEL(kThreads)
void carry_kernel(Chunks chunks, const float* carries, float* grad_table) {
    const std::int64_t chunk = gpu::block_index(), width = chunks.width, last = chunks.end(chunk) - 1;
    if (!chunks.same_row(last, last + 1)) return;
    // Of a chunk that only carries, the row is an earlier one's.
    if (chunks.goes_on(chunk) && chunks.same_row(chunks.begin(chunk), last)) return;
    for (std::int64_t c = gpu::thread_index() * std::int64_t{pack}; c < width;
         c += std::int64_t{kThreads} * pack) {
        float* to = grad_table + chunks.order[last].row() * width + c;
        float sums[pack];
        gpu::load<pack>(to, sums);
        for (std::int64_t next = chunk + 1; chunks.same_row(last, chunks.begin(next)); ++next) {
            float v[pack];
            gpu::load<pack>(carries + next * width + c, v);
            MPT_UNROLL
            for (int k = 0; k < pack; ++k) sums[k] += v[k];
        }
        gpu::store<pack>(to, sums);
    }
}

void run_embedding(const gpu::Call& s, const KernelArgs& a) {
    const Shape& table = s.in(1).shape;
    const std::int64_t tokens = s.in(0).shape.num_elements();
    gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(table[1], [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, {.blocks = tokens, .threads = kThreads, .threads_meet = false},
                        forward_kernel<pack, T>, table[0], table[1],
                        s.attributes.as<EmbeddingAttributes>().padding_id, a.in<std::int32_t>(0), a.in<T>(1),
                        a.out<T>(0));
        });
    });
}

// Keys twice, then what chunks carry; each at a multiple of 256 bytes.
struct Workspace {
    std::size_t key_bytes, carry_bytes;
    std::int64_t num_chunks;
    Workspace(std::int64_t tokens, std::int64_t width)
        : key_bytes(padded(static_cast<std::size_t>(tokens) * sizeof(gpu::TokenKey))),
          carry_bytes(static_cast<std::size_t>(gpu::blocks_for(tokens, kChunk) * width) * sizeof(float)),
          num_chunks(gpu::blocks_for(tokens, kChunk)) {}
    static std::size_t padded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

// With `buffer` 1 input 0 is what the gradient is added to, in its memory.
template <int buffer>
void run_embedding_backward(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t tokens = s.in(buffer + 1).shape.num_elements(), width = s.out(0).shape[1];
    if (buffer == 0) s.device->fill_zero(a.out<float>(0), static_cast<std::size_t>(s.out(0).bytes()));
    const Workspace sizes(tokens, width);
    auto* bytes = static_cast<std::byte*>(a.workspace);
    auto* carries = reinterpret_cast<float*>(bytes + 2 * sizes.key_bytes);
    const gpu::TokenKey* order = gpu::order_tokens(
        *s.device, tokens, s.out(0).shape[0], s.attributes.as<EmbeddingBackwardAttributes>().padding_id,
        a.in<std::int32_t>(buffer + 1), reinterpret_cast<gpu::TokenKey*>(bytes),
        reinterpret_cast<gpu::TokenKey*>(bytes + sizes.key_bytes));
    const Chunks chunks{tokens, width, order};
    const gpu::Launch shape = {.blocks = sizes.num_chunks, .threads = kThreads, .threads_meet = false};
    gpu::with_storage(s.in(buffer).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(width, [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, shape, chunk_kernel<pack, T>, chunks, a.in<T>(buffer), carries,
                        a.out<float>(0));
            gpu::launch(*s.device, shape, carry_kernel<pack>, chunks, carries, a.out<float>(0));
        });
    });
}

template <int buffer>
std::size_t workspace_bytes(const gpu::Call& s) {
    const Workspace sizes(s.in(buffer + 1).shape.num_elements(), s.out(0).shape[1]);
    return 2 * sizes.key_bytes + sizes.carry_bytes;
}

}  // namespace

MPT_REGISTER_CUDA(embedding)(KernelTable& table) {
    table.add(gpu::kernel<run_embedding>(embedding_op));
    table.add(gpu::kernel<run_embedding_backward<0>, workspace_bytes<0>>(embedding_backward_op));
    table.add(gpu::kernel<run_embedding_backward<1>, workspace_bytes<1>>(embedding_backward_accumulate_op));
}

}  // namespace mpt

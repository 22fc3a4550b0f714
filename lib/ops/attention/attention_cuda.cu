// Attention by the library where it takes it, by tiles for the usual head sizes, and row by row, each score
// by one thread, for any other.
#include <limits>

#include "ops/attention/attention_library_cuda.h"
#include "ops/attention/attention_tiles_cuda.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

constexpr int kThreads = gpu::kRowThreads;
using gpu::AttentionBackward;
using gpu::AttentionCall;
using gpu::AttentionRows;

template <int pack, typename T>
MPT_DEVICE float dot(const T* a, const T* b, std::int64_t size) {
    float sum = 0;
    for (std::int64_t i = 0; i < size; i += pack) {
        float x[pack], y[pack];
        gpu::load<pack>(a + i, x);
        gpu::load<pack>(b + i, y);
        for (int k = 0; k < pack; ++k) sum += x[k] * y[k];
    }
    return sum;
}

// A block for each query of each head.
template <int pack, typename T>
MPT_KERNEL_ALL_REGISTERS(kThreads)
void forward_kernel(AttentionCall e, AttentionRows<const T> q, AttentionRows<const T> k,
                    AttentionRows<const T> v, T* o, float* logsumexp) {
    MPT_DYNAMIC_SHARED(float, p, e.keys);
    const gpu::HeadBlock head(e, e.queries);
    const std::int64_t t = head.index, bh = head.bh, b = head.b, h = head.h;
    const std::int64_t seen = e.num_seen(b, t);
    const T* query = q.at(b, h, e.size, t);
    float most = -INFINITY;
    for (std::int64_t j = gpu::thread_index(); j < seen; j += kThreads) {
        const float score = e.scale * dot<pack>(query, k.at(b, h, e.size, j), e.size);
        p.put(j, score);
        most = score > most || score != score ? score : most;
    }
    most = gpu::greatest_of_block<kThreads>(most);
    const gpu::DropoutCounter counter = e.counter();
    float sum = 0;
    for (std::int64_t j = gpu::thread_index(); j < seen; j += kThreads) {
        const float weight = std::exp(p.get(j) - most);
        sum += weight;
        p.put(j, weight * e.dropout.factor(counter, e.first_number(bh, t) + j));
    }
    sum = gpu::sum_block<kThreads>(sum);
    gpu::sync_block();
    T* out = o + ((b * e.queries + t) * e.heads + h) * e.size;
    for (std::int64_t d = gpu::thread_index(); d < e.size; d += kThreads) {
        float value = 0;
        for (std::int64_t j = 0; j < seen; ++j) value += p.get(j) * gpu::widen(v.at(b, h, e.size, j)[d]);
        out[d] = gpu::narrow<T>(seen == 0 ? 0.0f : value / sum);
    }
    if (gpu::thread_index() == 0) logsumexp[bh * e.queries + t] = seen == 0 ? 0.0f : most + std::log(sum);
}

template <int pack, typename T>
MPT_KERNEL(kThreads)
void query_kernel(AttentionCall e, AttentionBackward<T> in, AttentionRows<T> grad_q) {
    MPT_DYNAMIC_SHARED(float, grad_score, e.keys);
    const gpu::HeadBlock head(e, e.queries);
    const std::int64_t t = head.index, bh = head.bh, b = head.b, h = head.h;
    const std::int64_t seen = e.num_seen(b, t);
    const T* query = in.q.at(b, h, e.size, t);
    const T* grad = in.grad_o.at(b, h, e.size, t);
    const T* out = in.o + ((b * e.queries + t) * e.heads + h) * e.size;
    float along = 0;
    for (std::int64_t d = gpu::thread_index(); d < e.size; d += kThreads)
        along += gpu::widen(grad[d]) * gpu::widen(out[d]);
    along = gpu::sum_block<kThreads>(along);
    const float shift = in.logsumexp[bh * e.queries + t];
    const gpu::DropoutCounter counter = e.counter();
    for (std::int64_t j = gpu::thread_index(); j < seen; j += kThreads) {
        const float weight = std::exp(e.scale * dot<pack>(query, in.k.at(b, h, e.size, j), e.size) - shift);
        const float factor = e.dropout.factor(counter, e.first_number(bh, t) + j);
        grad_score.put(
            j, e.scale * weight * (factor * dot<pack>(grad, in.v.at(b, h, e.size, j), e.size) - along));
    }
    gpu::sync_block();
    T* to = grad_q.at(b, h, e.size, t);
    for (std::int64_t d = gpu::thread_index(); d < e.size; d += kThreads) {
        float value = 0;
        for (std::int64_t j = 0; j < seen; ++j)
            value += grad_score.get(j) * gpu::widen(in.k.at(b, h, e.size, j)[d]);
        to[d] = gpu::narrow<T>(value);
    }
    if (gpu::thread_index() == 0) in.along[bh * e.queries + t] = along;
}

// A block for each key of each head, over the queries that see it.
template <int pack, typename T>
MPT_KERNEL_ALL_REGISTERS(kThreads)
void key_kernel(AttentionCall e, AttentionBackward<T> in, AttentionRows<T> grad_k, AttentionRows<T> grad_v) {
    MPT_DYNAMIC_SHARED(float, of_query, 2 * e.queries);  // gradients of scores, then weights
    const gpu::HeadBlock head(e, e.keys);
    const std::int64_t j = head.index, bh = head.bh, b = head.b, h = head.h;
    const T* key = in.k.at(b, h, e.size, j);
    const T* value = in.v.at(b, h, e.size, j);
    const gpu::DropoutCounter counter = e.counter();
    for (std::int64_t t = gpu::thread_index(); t < e.queries; t += kThreads) {
        float grad_score = 0, kept = 0;
        if (j < e.num_seen(b, t)) {
            const float shift = in.logsumexp[bh * e.queries + t];
            const float weight = std::exp(e.scale * dot<pack>(in.q.at(b, h, e.size, t), key, e.size) - shift);
            const float factor = e.dropout.factor(counter, e.first_number(bh, t) + j);
            const float grad = dot<pack>(in.grad_o.at(b, h, e.size, t), value, e.size);
            grad_score = e.scale * weight * (factor * grad - in.along[bh * e.queries + t]);
            kept = factor * weight;
        }
        of_query.put(t, grad_score);
        of_query.put(e.queries + t, kept);
    }
    gpu::sync_block();
    for (std::int64_t d = gpu::thread_index(); d < e.size; d += kThreads) {
        float of_key = 0, of_value = 0;
        for (std::int64_t t = 0; t < e.queries; ++t) {
            of_key += of_query.get(t) * gpu::widen(in.q.at(b, h, e.size, t)[d]);
            of_value += of_query.get(e.queries + t) * gpu::widen(in.grad_o.at(b, h, e.size, t)[d]);
        }
        grad_k.at(b, h, e.size, j)[d] = gpu::narrow<T>(of_key);
        grad_v.at(b, h, e.size, j)[d] = gpu::narrow<T>(of_value);
    }
}

AttentionExtent extent_of(const Signature& s, bool backward) {
    const std::span<const TensorType> inputs(s.inputs);
    return {attention_layout(*s.op), backward ? inputs.subspan(1) : inputs,
            s.attributes.as<AttentionAttributes>()};
}

AttentionCall device_extent(const gpu::Call& s, const KernelArgs& a, const AttentionExtent& e, int optional) {
    const auto& attributes = s.attributes.as<AttentionAttributes>();
    return {e.heads,
            e.queries,
            e.keys,
            e.size,
            s.has(optional) ? a.in<std::int32_t>(optional) : nullptr,
            s.has(optional + 1) ? a.in<std::int32_t>(optional + 1) : nullptr,
            static_cast<float>(e.scale()),
            attributes.causal,
            gpu::DropoutMask(attributes.dropout)};
}

template <typename T>
AttentionRows<T> rows_of(const AttentionLayout& layout, const AttentionExtent& e, std::size_t place,
                         std::span<void* const> tensors, std::size_t first) {
    const AttentionLayout::Place& p = layout.places[place];
    auto* data = static_cast<T*>(tensors[first + static_cast<std::size_t>(p.tensor)]);
    return {data + p.part * e.heads * e.size, e.row(p), (place == 0 ? e.queries : e.keys) * e.row(p)};
}

template <typename Run>
void with_types(DType dtype, std::int64_t size, const Run& run) {
    gpu::with_storage(dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(size, [&](auto pack) { run(T{}, pack); });
    });
}

gpu::Launch shape_of(const AttentionExtent& e, std::int64_t blocks, std::int64_t shared_floats) {
    return {.blocks = blocks * e.batch * e.heads,
            .threads = kThreads,
            .shared_bytes = static_cast<std::size_t>(shared_floats) * sizeof(float)};
}

void run_forward(const gpu::Call& s, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const AttentionExtent e = extent_of(s, false);
    const AttentionCall on_device = device_extent(s, a, e, layout.num_tensors);
    with_types(s.in(0).dtype, e.size, [&]<typename T, int pack>(T, std::integral_constant<int, pack>) {
        gpu::launch(*s.device, shape_of(e, e.queries, e.keys), forward_kernel<pack, T>, on_device,
                    rows_of<const T>(layout, e, 0, a.inputs, 0), rows_of<const T>(layout, e, 1, a.inputs, 0),
                    rows_of<const T>(layout, e, 2, a.inputs, 0), a.out<T>(0), a.out<float>(1));
    });
}

template <typename T>
AttentionBackward<T> backward_of(const gpu::Call&, const KernelArgs& a, const AttentionLayout& layout,
                                 const AttentionExtent& e) {
    const int n = layout.num_tensors;
    AttentionBackward<T> in{};
    in.q = rows_of<const T>(layout, e, 0, a.inputs, 1);
    in.k = rows_of<const T>(layout, e, 1, a.inputs, 1);
    in.v = rows_of<const T>(layout, e, 2, a.inputs, 1);
    in.grad_o = {a.in<T>(0), e.heads * e.size, e.queries * e.heads * e.size};
    in.o = a.in<T>(n + 1);
    in.logsumexp = a.in<float>(n + 2);
    in.along = static_cast<float*>(a.workspace);
    return in;
}

void run_backward(const gpu::Call& s, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const AttentionExtent e = extent_of(s, true);
    const AttentionCall on_device = device_extent(s, a, e, layout.num_tensors + 3);
    with_types(s.in(0).dtype, e.size, [&]<typename T, int pack>(T, std::integral_constant<int, pack>) {
        const AttentionBackward<T> in = backward_of<T>(s, a, layout, e);
        gpu::launch(*s.device, shape_of(e, e.queries, e.keys), query_kernel<pack, T>, on_device, in,
                    rows_of<T>(layout, e, 0, a.outputs, 0));
        gpu::launch(*s.device, shape_of(e, e.keys, 2 * e.queries), key_kernel<pack, T>, on_device, in,
                    rows_of<T>(layout, e, 1, a.outputs, 0), rows_of<T>(layout, e, 2, a.outputs, 0));
    });
}

// Calls run(Tile) with the largest tile that fits, from number `i` of the list on.
template <AttentionPass pass, int size, std::size_t i = 0, typename Run>
void with_tile_of(std::int64_t shared_bytes, const Run& run) {
    constexpr AttentionTile tile = attention_tiles(pass, size)[i];
    if constexpr (i + 1 < attention_tiles(pass, size).size())
        if (static_cast<std::int64_t>(attention_tile_bytes(pass, size, tile)) > shared_bytes)
            return with_tile_of<pass, size, i + 1>(shared_bytes, run);
    run(gpu::Tile<size, tile.queries, tile.keys>{});
}
// Calls run(T{}, Tile) for the sizes of heads that tiles take.
template <AttentionPass pass, typename Run>
void with_tiles(const gpu::Call& s, std::int64_t size, const Run& run) {
    const std::int64_t bytes = s.device->info().shared_bytes_per_block;
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const auto of_type = [&](auto tile) { run(T{}, tile); };
        if (size == 32) return with_tile_of<pass, 32>(bytes, of_type);
        if (size == 64) return with_tile_of<pass, 64>(bytes, of_type);
        if (size == 128) return with_tile_of<pass, 128>(bytes, of_type);
        with_tile_of<pass, 16>(bytes, of_type);
    });
}

gpu::Launch tile_shape(const AttentionExtent& e, std::int64_t rows, int per_tile, std::size_t bytes) {
    return {.blocks = gpu::blocks_for(rows, per_tile) * e.batch * e.heads,
            .threads = gpu::kAttentionThreads,
            .shared_bytes = bytes};
}

void run_forward_tiles(const gpu::Call& s, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const AttentionExtent e = extent_of(s, false);
    const AttentionCall call = device_extent(s, a, e, layout.num_tensors);
    constexpr AttentionPass pass = AttentionPass::kForward;
    with_tiles<pass>(s, e.size, [&]<typename T, typename Tile>(T, Tile) {
        gpu::launch(*s.device, tile_shape(e, e.queries, Tile::kQueries, Tile::bytes(pass)),
                    gpu::attention_forward_tiles<Tile, T>, call, rows_of<const T>(layout, e, 0, a.inputs, 0),
                    rows_of<const T>(layout, e, 1, a.inputs, 0), rows_of<const T>(layout, e, 2, a.inputs, 0),
                    a.out<T>(0), a.out<float>(1));
    });
}

void run_backward_tiles(const gpu::Call& s, const KernelArgs& a) {
    const AttentionLayout& layout = attention_layout(*s.op);
    const AttentionExtent e = extent_of(s, true);
    const AttentionCall call = device_extent(s, a, e, layout.num_tensors + 3);
    const std::int64_t rows = e.batch * e.heads * e.queries;
    constexpr AttentionPass pass = AttentionPass::kBackward;
    with_tiles<pass>(s, e.size, [&]<typename T, typename Tile>(T, Tile) {
        const AttentionBackward<T> in = backward_of<T>(s, a, layout, e);
        gpu::launch(*s.device, gpu::row_launch<gpu::kLanes>(rows), gpu::attention_along_kernel<T>, call, rows,
                    in);
        gpu::launch(*s.device, tile_shape(e, e.queries, Tile::kQueries, Tile::bytes(pass)),
                    gpu::attention_query_tiles<Tile, T>, call, in, rows_of<T>(layout, e, 0, a.outputs, 0));
        gpu::launch(*s.device, tile_shape(e, e.keys, Tile::kKeys, Tile::bytes(pass)),
                    gpu::attention_key_tiles<Tile, T>, call, in, rows_of<T>(layout, e, 1, a.outputs, 0),
                    rows_of<T>(layout, e, 2, a.outputs, 0));
    });
}

AttentionPass pass_of(const Signature& s) {
    return s.op->name.ends_with("_backward") ? AttentionPass::kBackward : AttentionPass::kForward;
}

// `per_block` rows of a head a block; a grid ends at 2^31 - 1 blocks.
std::string refusal_of_grid(const AttentionExtent& e, std::int64_t per_block) {
    const std::int64_t blocks = gpu::blocks_for(std::max(e.queries, e.keys), per_block) * e.batch * e.heads;
    return blocks > std::numeric_limits<std::int32_t>::max()
               ? "takes " + std::to_string(blocks) + " blocks, a grid has 2147483647"
               : "";
}

std::string refusal_of_tiles(const Signature& s) {
    const AttentionPass pass = pass_of(s);
    const AttentionExtent e = extent_of(s, pass == AttentionPass::kBackward);
    const std::span<const AttentionTile> tiles = attention_tiles(pass, e.size);
    if (tiles.empty()) return "takes heads of 16, 32, 64 or 128";
    AttentionTile tile = tiles.front();
    if (gpu::current_device() != nullptr) {
        const std::int64_t offered = gpu::current_device()->info().shared_bytes_per_block;
        const AttentionTile* fitting = fitting_attention_tile(pass, e.size, offered);
        if (fitting == nullptr)
            return "its smallest tiles take " +
                   std::to_string(attention_tile_bytes(pass, static_cast<int>(e.size), tiles.back())) +
                   " bytes of shared memory, a block has " + std::to_string(offered);
        tile = *fitting;
    }
    const std::string why = refusal_of_grid(e, std::min(tile.queries, tile.keys));
    return why.empty() ? gpu::refusal(s) : why;
}

std::size_t along_bytes(const gpu::Call& s) {
    const AttentionExtent e = extent_of(s, true);
    return static_cast<std::size_t>(e.batch * e.heads * e.queries) * sizeof(float);
}

std::string refusal(const Signature& s) {
    const bool backward = pass_of(s) == AttentionPass::kBackward;
    const AttentionExtent e = extent_of(s, backward);
    // Beside the scores: what greatest_of_block and sum_block keep of each warp.
    constexpr std::int64_t kReductions = 2 * (kThreads / gpu::kLanes);
    const std::int64_t need =
        (std::max(e.keys, backward ? 2 * e.queries : 0) + kReductions) * std::int64_t{sizeof(float)};
    if (gpu::current_device() != nullptr && need > gpu::current_device()->info().shared_bytes_per_block)
        return "the scores of a query take " + std::to_string(need) +
               " bytes of shared memory, a block has " +
               std::to_string(gpu::current_device()->info().shared_bytes_per_block);
    const std::string why = refusal_of_grid(e, 1);
    return why.empty() ? gpu::refusal(s) : why;
}

}  // namespace

MPT_REGISTER_CUDA(attention)(KernelTable& table) {
    const auto add = [&](Kernel kernel, const char* name) {
        kernel.name = name;
        table.add(kernel);
    };
    for (const OpType* op : {&attention_op, &attention_backward_op, &qkv_attention_op,
                             &qkv_attention_backward_op, &cross_attention_op, &cross_attention_backward_op})
        table.add({op->name, "cudnn", gpu::library_attention_refusal, gpu::prepare_library_attention});
    for (const OpType* op : {&attention_op, &qkv_attention_op, &cross_attention_op}) {
        add(gpu::kernel<run_forward_tiles>(*op, refusal_of_tiles), "tiles");
        add(gpu::kernel<run_forward>(*op, refusal), "rows");
    }
    for (const OpType* op :
         {&attention_backward_op, &qkv_attention_backward_op, &cross_attention_backward_op}) {
        add(gpu::kernel<run_backward_tiles, along_bytes>(*op, refusal_of_tiles), "tiles");
        add(gpu::kernel<run_backward, along_bytes>(*op, refusal), "rows");
    }
}

}  // namespace mpt

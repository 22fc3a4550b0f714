#include <cstring>

#include "ops/embedding/embedding.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void check_id(std::int64_t id, std::int64_t rows) {
    MPT_CHECK(id >= 0 && id < rows, "token id " + std::to_string(id) + " of " + std::to_string(rows));
}

// Copies bytes: the storage type does not matter.
void run_embedding(const Signature& s, const KernelArgs& a) {
    const std::int64_t rows = s.in(1).shape[0], tokens = s.in(0).shape.num_elements();
    const auto row_bytes = static_cast<std::size_t>(s.in(1).bytes() / rows);
    const std::int64_t padding = s.attributes.as<EmbeddingAttributes>().padding_id;
    const std::int32_t* ids = simd::input<std::int32_t>(a, 0);
    const char* table = simd::input<char>(a, 1);
    char* y = simd::output<char>(a, 0);
    const auto grain = std::max<std::int64_t>(1, simd::kGrain / s.in(1).shape[1]);
    cpu::parallel_for(tokens, grain, s.num_threads, [=](cpu::Range range, int) {
        for (std::int64_t t = range.begin; t < range.end; ++t) {
            char* to = y + static_cast<std::size_t>(t) * row_bytes;
            check_id(ids[t], rows);
            if (ids[t] == padding)
                std::memset(to, 0, row_bytes);
            else
                std::memcpy(to, table + static_cast<std::size_t>(ids[t]) * row_bytes, row_bytes);
        }
    });
}

// Tokens by their rows, each row's in their order: those of row r are order[begin[r]] to order[begin[r + 1]].
struct TokensByRow {
    std::int32_t* begin;  // [rows + 1]
    std::int32_t* order;  // [tokens]

    // `ids_at` is the place of the ids among the inputs.
    static std::size_t bytes(const Signature& s, int ids_at) {
        return static_cast<std::size_t>(s.out(0).shape[0] + 2 + s.in(ids_at).shape.num_elements()) *
               sizeof(std::int32_t);
    }
    TokensByRow(const Signature& s, const KernelArgs& a, int ids_at) {
        const std::int64_t rows = s.out(0).shape[0], tokens = s.in(ids_at).shape.num_elements();
        const std::int64_t padding = s.attributes.as<EmbeddingBackwardAttributes>().padding_id;
        const std::int32_t* ids = simd::input<std::int32_t>(a, ids_at);
        // Counts two places on; summed, begin[r + 1] is where row r starts, and filling moves it to its end.
        begin = static_cast<std::int32_t*>(a.workspace);
        order = begin + rows + 2;
        std::fill_n(begin, rows + 2, 0);
        for (std::int64_t t = 0; t < tokens; ++t) {
            check_id(ids[t], rows);
            if (ids[t] != padding) ++begin[ids[t] + 2];
        }
        for (std::int64_t r = 2; r < rows + 2; ++r) begin[r] += begin[r - 1];
        for (std::int64_t t = 0; t < tokens; ++t)
            if (ids[t] != padding) order[begin[ids[t] + 1]++] = static_cast<std::int32_t>(t);
    }
};

template <typename T>
void add_tokens(const T* grad_y, const std::int32_t* first, const std::int32_t* last, float* to,
                std::int64_t width) {
    for (; first != last; ++first) {
        const T* from = grad_y + *first * width;
        simd::for_lanes(0, width, [=](std::int64_t c, auto lanes) {
            simd::store(to + c, _mm256_add_ps(simd::load(to + c, lanes), simd::load(from + c, lanes)), lanes);
        });
    }
}

// The first row of thread `thread`: each gets about as many rows and tokens together as any other.
std::int64_t first_row(const TokensByRow& tokens, std::int64_t rows, int thread, int num_threads) {
    const std::int64_t target = (rows + tokens.begin[rows]) * thread / num_threads;
    std::int64_t low = 0, high = rows;
    while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        if (middle + tokens.begin[middle] < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// With `buffer` 1 the table holds input 0 already, and rows that no token names are not touched.
template <int buffer>
void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t rows = s.out(0).shape[0], width = s.out(0).shape[1];
    const TokensByRow tokens(s, a, buffer + 1);
    float* grad_table = simd::output<float>(a, 0);
    simd::with_storage(s.in(buffer).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, buffer);
        cpu::run_threads(s.num_threads, [&](int thread) {
            const std::int64_t end =
                thread + 1 == s.num_threads ? rows : first_row(tokens, rows, thread + 1, s.num_threads);
            for (std::int64_t r = first_row(tokens, rows, thread, s.num_threads); r < end; ++r) {
                if (buffer == 0) std::fill_n(grad_table + r * width, width, 0.0f);
                add_tokens(grad_y, tokens.order + tokens.begin[r], tokens.order + tokens.begin[r + 1],
                           grad_table + r * width, width);
            }
        });
    });
}

template <int buffer>
PreparedKernel prepare_backward(const Signature& s) {
    return {[s](const KernelArgs& a) { run_backward<buffer>(s, a); }, TokensByRow::bytes(s, buffer + 1),
            "avx2"};
}

}  // namespace

void register_embedding_cpu(KernelTable& table) {
    table.add(simd::kernel<run_embedding>(embedding_op));
    table.add({embedding_backward_op.name, "simd", simd::refusal, prepare_backward<0>});
    table.add({embedding_backward_accumulate_op.name, "simd", simd::refusal, prepare_backward<1>});
}

}  // namespace mpt

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

    static std::size_t bytes(const Signature& s) {
        return static_cast<std::size_t>(s.out(0).shape[0] + 2 + s.in(1).shape.num_elements()) *
               sizeof(std::int32_t);
    }
    TokensByRow(const Signature& s, const KernelArgs& a) {
        const std::int64_t rows = s.out(0).shape[0], tokens = s.in(1).shape.num_elements();
        const std::int64_t padding = s.attributes.as<EmbeddingBackwardAttributes>().padding_id;
        const std::int32_t* ids = simd::input<std::int32_t>(a, 1);
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
void sum_row(const T* grad_y, const std::int32_t* first, const std::int32_t* last, float* to,
             std::int64_t width) {
    std::fill_n(to, width, 0.0f);
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

void run_backward(const Signature& s, const KernelArgs& a) {
    const std::int64_t rows = s.out(0).shape[0], width = s.out(0).shape[1];
    const TokensByRow tokens(s, a);
    float* grad_table = simd::output<float>(a, 0);
    simd::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        const T* grad_y = simd::input<T>(a, 0);
        cpu::run_threads(s.num_threads, [&](int thread) {
            const std::int64_t end =
                thread + 1 == s.num_threads ? rows : first_row(tokens, rows, thread + 1, s.num_threads);
            for (std::int64_t r = first_row(tokens, rows, thread, s.num_threads); r < end; ++r)
                sum_row(grad_y, tokens.order + tokens.begin[r], tokens.order + tokens.begin[r + 1],
                        grad_table + r * width, width);
        });
    });
}

PreparedKernel prepare_backward(const Signature& s) {
    return {[s](const KernelArgs& a) { run_backward(s, a); }, TokensByRow::bytes(s), "avx2"};
}

}  // namespace

void register_embedding_cpu(KernelTable& table) {
    table.add(simd::kernel<run_embedding>(embedding_op));
    table.add({embedding_backward_op.name, "simd", simd::refusal, prepare_backward});
}

}  // namespace mpt

#include <algorithm>

#include "backends/cpu/activations.h"
#include "backends/cpu/matmul_rows.h"
#include "backends/cpu/threads.h"

namespace mpt::cpu {

namespace {

constexpr std::int64_t kMostRows = 4;
constexpr int kColumns = 2;                     // rows of the matrix at a time: 8 sums wait for no other
constexpr std::int64_t kBytesOfThread = 65536;  // of the matrix: less does not pay for waking one

// The rows of a in f32, after its activation.
const float* widened(const MatmulSpec& s, const MatmulArgs& args) {
    if (s.a.dtype == DType::f32 && s.a.activation == Pointwise::kIdentity)
        return static_cast<const float*>(args.a);
    float* to = static_cast<float*>(args.workspace);
    simd::with_storage(s.a.dtype, [&]<typename T>(T) {
        const T* from = static_cast<const T*>(args.a);
        simd::with_activation(s.a.activation, [&](auto activation) {
            simd::for_lanes(0, s.m * s.k, [&](std::int64_t i, auto lanes) {
                simd::store(to + i, simd::activate<activation()>(simd::load(from + i, lanes)), lanes);
            });
        });
    });
    return to;
}

// to[r * n + c] = a row r . b row c, for `rows` rows and `columns` rows of b.
template <int rows, int columns, typename B, typename Store>
void dot(const float* a, const B* b, std::int64_t k, const Store& store) {
    __m256 sums[rows][columns];
    for (auto& row : sums)
        for (__m256& sum : row) sum = _mm256_setzero_ps();
    simd::for_lanes(0, k, [&](std::int64_t i, auto lanes) {
        __m256 w[columns];
        for (int c = 0; c < columns; ++c) w[c] = simd::load(b + c * k + i, lanes);
        for (int r = 0; r < rows; ++r) {
            const __m256 x = simd::load(a + r * k + i, lanes);
            for (int c = 0; c < columns; ++c) sums[r][c] = _mm256_fmadd_ps(x, w[c], sums[r][c]);
        }
    });
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) store(r, c, static_cast<float>(simd::sum_of(sums[r][c])));
}

template <int rows, typename B, typename C>
void run_range(const MatmulSpec& s, const MatmulArgs& args, const float* a, Range range) {
    const B* b = static_cast<const B*>(args.b);
    C* c = static_cast<C*>(args.c);
    std::int64_t n = range.begin;
    const auto store = [&](int row, int column, float value) {
        const std::int64_t at = n + column;
        c[row * s.n + at] = C(s.bias ? value + args.bias[at] : value);
    };
    for (; n + kColumns <= range.end; n += kColumns) dot<rows, kColumns>(a, b + n * s.k, s.k, store);
    for (; n < range.end; ++n) dot<rows, 1>(a, b + n * s.k, s.k, store);
}

template <typename B, typename C>
void run_rows(const MatmulSpec& s, const MatmulArgs& args, const float* a, Range range) {
    constexpr void (*kByRows[])(const MatmulSpec&, const MatmulArgs&, const float*, Range) = {
        run_range<1, B, C>, run_range<2, B, C>, run_range<3, B, C>, run_range<4, B, C>};
    kByRows[s.m - 1](s, args, a, range);
}

}  // namespace

bool is_few_rows(const MatmulSpec& s) {
    return s.m <= kMostRows && s.b.transposed && !s.a.transposed && !s.accumulate &&
           s.derivative_at_x == Pointwise::kIdentity && s.b.activation == Pointwise::kIdentity;
}

std::size_t few_rows_workspace_bytes(const MatmulSpec& s) {
    return static_cast<std::size_t>(s.m * s.k) * sizeof(float);
}

void matmul_few_rows(const MatmulSpec& s, const MatmulArgs& args, int num_threads) {
    const float* a = widened(s, args);
    const std::int64_t bytes_of_row = s.k * static_cast<std::int64_t>(size_of(s.b.dtype));
    const std::int64_t grain =
        std::max<std::int64_t>(kColumns, kBytesOfThread / std::max<std::int64_t>(1, bytes_of_row));
    parallel_for(s.n, grain / kColumns * kColumns, num_threads, [&](Range range, int) {
        simd::with_storage(s.b.dtype, [&]<typename B>(B) {
            simd::with_storage(s.c, [&]<typename C>(C) { run_rows<B, C>(s, args, a, range); });
        });
    });
}

}  // namespace mpt::cpu

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/float_formats.h"
#include "ops/quantize_fp8/quantize_fp8.h"
#include "ops/quantize_fp8/scaling_rule.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// Rows that one thread transposes at a time: a cache line of each column.
constexpr std::int64_t kRows = 64;

template <typename X>
float greatest_magnitude(const X* x, std::int64_t count) {
    // As integers magnitudes are in order, NaN above all.
    std::uint32_t most = 0;
    for (std::int64_t i = 0; i < count; ++i)
        most = std::max(most, std::bit_cast<std::uint32_t>(static_cast<float>(x[i])) & 0x7fffffffu);
    return std::bit_cast<float>(most);
}

template <typename X>
float greatest_magnitude(const X* x, std::int64_t count, int num_threads) {
    std::vector<float> of_thread(static_cast<std::size_t>(num_threads), 0.0f);
    cpu::parallel_for(count, simd::kGrain, num_threads, [&](cpu::Range range, int thread) {
        of_thread[static_cast<std::size_t>(thread)] =
            greatest_magnitude(x + range.begin, range.end - range.begin);
    });
    return greatest_magnitude(of_thread.data(), num_threads);
}

template <typename X, typename Q>
struct Copies {
    const X* x;
    std::int64_t rows, columns;
    float scale;
    Q *as_rows, *as_columns;  // null: not wanted

    // Rows [begin, end), which are padding from `rows` on.
    void write(std::int64_t begin, std::int64_t end) const {
        const std::int64_t length = padded_to_16(rows);
        for (std::int64_t r = begin; r < std::min(end, rows); ++r)
            for (std::int64_t c = 0; c < columns; ++c) {
                const Q q(static_cast<float>(x[r * columns + c]) * scale);
                if (as_rows != nullptr) as_rows[r * columns + c] = q;
                if (as_columns != nullptr) as_columns[c * length + r] = q;
            }
        if (as_columns == nullptr) return;
        for (std::int64_t r = std::max(begin, rows); r < end; ++r)
            for (std::int64_t c = 0; c < columns; ++c) as_columns[c * length + r] = Q();
    }
};

void advance(const QuantizeFp8Attributes& attributes, float* state, std::int64_t elements, float amax,
             float greatest) {
    if (!scaling::is_finite(amax)) return;
    const std::int64_t history = elements - scaling::kFirstAmax;
    const auto next = static_cast<std::int64_t>(state[scaling::kNext]);
    state[scaling::kFirstAmax + next] = amax;
    state[scaling::kNext] = static_cast<float>((next + 1) % history);
    const float most = *std::max_element(state + scaling::kFirstAmax, state + elements);
    state[scaling::kScale] = scaling::scale_next(state[scaling::kScale], most, greatest, attributes.margin);
}

template <typename X, typename Q>
void run_typed(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<QuantizeFp8Attributes>();
    const Shape& shape = s.in(0).shape;
    const auto* x = a.in<X>(0);
    float* state = a.out<float>(0);
    const std::int64_t elements = s.in(1).shape[0];
    if (state != a.in<float>(1)) std::copy_n(a.in<float>(1), elements, state);
    const float amax = greatest_magnitude(x, shape.num_elements(), s.num_threads);
    const Copies<X, Q> copies{
        x,
        shape[0],
        shape[1],
        scaling::scale_now(state[scaling::kScale], amax, Q::kGreatest, attributes.margin),
        attributes.rows ? a.out<Q>(rows_output(attributes)) : nullptr,
        attributes.columns ? a.out<Q>(columns_output(attributes)) : nullptr};
    *a.out<float>(1) = 1 / copies.scale;
    const std::int64_t rows = padded_to_16(shape[0]);
    cpu::parallel_for((rows + kRows - 1) / kRows, 1, s.num_threads, [&](cpu::Range range, int) {
        for (std::int64_t block = range.begin; block < range.end; ++block)
            copies.write(block * kRows, std::min(rows, (block + 1) * kRows));
    });
    advance(attributes, state, elements, amax, Q::kGreatest);
}

void run_quantize(const Signature& s, const KernelArgs& a) {
    const bool gradient = s.attributes.as<QuantizeFp8Attributes>().format == DType::e5m2;
    simd::with_storage(s.in(0).dtype, [&]<typename X>(X) {
        gradient ? run_typed<X, e5m2>(s, a) : run_typed<X, e4m3>(s, a);
    });
}

PreparedKernel prepare(const Signature& signature) {
    return {[signature](const KernelArgs& args) { run_quantize(signature, args); }, 0, "fp8 emulated"};
}

}  // namespace

void register_quantize_fp8_cpu(KernelTable& table) {
    table.add({quantize_fp8_op.name, "emulated", simd::refusal, prepare});
}

}  // namespace mpt

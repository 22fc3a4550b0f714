#include "ops/flat_walk.h"
#include "ops/gradient_check/gradient_check.h"

namespace mpt {

namespace {

constexpr std::int64_t kChunk = 16384;  // elements of one partial sum, whatever the number of threads

struct F32Loader {
    const float* data;
    __m256 eight(std::int64_t i) const { return _mm256_loadu_ps(data + i); }
    float one(std::int64_t i) const { return data[i]; }
};
struct F16Loader {
    const std::uint16_t* data;
    __m256 eight(std::int64_t i) const {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i)));
    }
    float one(std::int64_t i) const { return f16_value(data[i]); }
};
struct Bf16Loader {
    const std::uint16_t* data;
    __m256 eight(std::int64_t i) const {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
    }
    float one(std::int64_t i) const { return bf16_value(data[i]); }
};

template <typename Loader>
double sum_of_squares(const Loader& load, std::int64_t begin, std::int64_t end) {
    __m256d sums[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
    const auto add = [&](__m256 x, int at) {
        const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
        const __m256d high = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
        sums[at] = _mm256_fmadd_pd(low, low, sums[at]);
        sums[at + 1] = _mm256_fmadd_pd(high, high, sums[at + 1]);
    };
    std::int64_t i = begin;
    for (; i + 16 <= end; i += 16) {
        add(load.eight(i), 0);
        add(load.eight(i + 8), 2);
    }
    alignas(32) double lanes[4];
    _mm256_store_pd(lanes, _mm256_add_pd(_mm256_add_pd(sums[0], sums[1]), _mm256_add_pd(sums[2], sums[3])));
    double sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (; i < end; ++i) {
        const double x = static_cast<double>(load.one(i));
        sum += x * x;
    }
    return sum;
}

template <typename Loader>
void run(const Loader& load, std::int64_t elements, int num_threads, const KernelArgs& a) {
    const std::int64_t chunks = (elements + kChunk - 1) / kChunk;
    auto* partial = static_cast<double*>(a.workspace);
    cpu::share_out(chunks, 4, num_threads, [&](cpu::Range range, int) {
        for (std::int64_t c = range.begin; c < range.end; ++c)
            partial[c] = sum_of_squares(load, c * kChunk, std::min(elements, (c + 1) * kChunk));
    });
    double sum = 0;
    for (std::int64_t c = 0; c < chunks; ++c) sum += partial[c];
    StepControl control;
    std::memcpy(&control, a.in<void>(1), sizeof control);
    control = checked(control, sum);
    std::memcpy(a.out<void>(0), &control, sizeof control);
}

std::string refusal(const Signature& s) {
    return s.in(0).dtype == DType::f64 ? "no f64" : flat_walk::refusal(s);
}

PreparedKernel prepare(const Signature& s) {
    const std::int64_t elements = s.in(0).shape.num_elements();
    const DType dtype = s.in(0).dtype;
    const int threads = s.num_threads;
    const auto kernel = [=](const KernelArgs& a) {
        if (dtype == DType::f32)
            run(F32Loader{a.in<float>(0)}, elements, threads, a);
        else if (dtype == DType::f16)
            run(F16Loader{a.in<std::uint16_t>(0)}, elements, threads, a);
        else
            run(Bf16Loader{a.in<std::uint16_t>(0)}, elements, threads, a);
    };
    const auto chunks = static_cast<std::size_t>((elements + kChunk - 1) / kChunk);
    return {kernel, chunks * sizeof(double), "avx2, f64 sums"};
}

}  // namespace

void register_gradient_check_cpu(KernelTable& table) {
    table.add({gradient_check_op.name, "simd", refusal, prepare});
}

}  // namespace mpt

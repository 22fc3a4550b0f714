#include "ops/image_normalize/image_normalize.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// Scales and shifts repeated until the pattern fits whole vectors: element i uses place i % size.
struct Pattern {
    std::vector<float> scale, shift;
    std::int64_t size = 0;

    explicit Pattern(const ImageNormalizeAttributes& a)
        : size(static_cast<std::int64_t>(a.scale.size()) * simd::kLanes) {
        for (int copy = 0; copy < simd::kLanes; ++copy) {
            scale.insert(scale.end(), a.scale.begin(), a.scale.end());
            shift.insert(shift.end(), a.shift.begin(), a.shift.end());
        }
    }
};

template <typename T>
void normalize(const std::uint8_t* images, T* x, const Pattern& pattern, cpu::Range range) {
    for (std::int64_t first = range.begin; first < range.end; first += pattern.size)
        simd::for_lanes(first, std::min(range.end, first + pattern.size), [&](std::int64_t i, auto lanes) {
            const __m256 pixels = _mm256_cvtepi32_ps(simd::load_bytes(images + i, lanes));
            const __m256 scale = _mm256_loadu_ps(pattern.scale.data() + (i - first));
            const __m256 shift = _mm256_loadu_ps(pattern.shift.data() + (i - first));
            simd::store(x + i, _mm256_fmadd_ps(pixels, scale, shift), lanes);
        });
}

std::string refusal(const Signature& s) {
    if (s.in(0).shape != s.out(0).shape) return "does not pad channels";
    return simd::refusal(s);
}

PreparedKernel prepare(const Signature& s) {
    const Pattern pattern(s.attributes.as<ImageNormalizeAttributes>());
    const auto run = [s, pattern](const KernelArgs& a) {
        const std::int64_t grain = (simd::kGrain + pattern.size - 1) / pattern.size * pattern.size;
        simd::with_storage(s.out(0).dtype, [&]<typename T>(T) {
            cpu::parallel_for(s.in(0).shape.num_elements(), grain, s.num_threads, [&](cpu::Range range, int) {
                normalize(simd::input<std::uint8_t>(a, 0), simd::output<T>(a, 0), pattern, range);
            });
        });
    };
    return {run, 0, "avx2"};
}

}  // namespace

void register_image_normalize_cpu(KernelTable& table) {
    table.add({image_normalize_op.name, "simd", refusal, prepare});
}

}  // namespace mpt

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/log_softmax/log_softmax.h"
#include "ops/simd_kernel.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace mpt {

namespace {

void check_target(const LossTarget<float>& target, std::int64_t classes) {
    MPT_CHECK(target.is_known(classes),
              "labels " + std::to_string(target.label) + ", " + std::to_string(target.second));
}

template <typename T>
float greatest_of(const T* z, std::int64_t classes) {
    float greatest = -std::numeric_limits<float>::infinity();
    __m256 best = _mm256_set1_ps(greatest);
    std::int64_t c = 0;
    for (; c + simd::kLanes <= classes; c += simd::kLanes)
        best = _mm256_max_ps(simd::load(z + c, simd::Full{}), best);
    for (; c < classes; ++c) greatest = std::max(greatest, static_cast<float>(z[c]));
    alignas(32) float lane[simd::kLanes];
    _mm256_store_ps(lane, best);
    for (const float value : lane) greatest = std::max(greatest, value);
    return greatest;
}

struct RowSums {
    double exponentials, logits;  // sum(exp(z - greatest)), sum(z - greatest)
};

template <typename T>
RowSums sums_of(const T* z, std::int64_t classes, float greatest) {
    __m256 exponentials = _mm256_setzero_ps(), logits = _mm256_setzero_ps();
    std::int64_t c = 0;
    for (; c + simd::kLanes <= classes; c += simd::kLanes) {
        const __m256 below = _mm256_sub_ps(simd::load(z + c, simd::Full{}), _mm256_set1_ps(greatest));
        exponentials = _mm256_add_ps(exponentials, simd::exp_of_negative(below));
        logits = _mm256_add_ps(logits, below);
    }
    RowSums sums{simd::sum_of(exponentials), simd::sum_of(logits)};
    for (; c < classes; ++c) {
        const double below = static_cast<double>(static_cast<float>(z[c])) - static_cast<double>(greatest);
        sums.exponentials += std::exp(below);
        sums.logits += below;
    }
    return sums;
}

// Losses of the rows go to the workspace in f64 and are added in their order: no bit depends on the threads.
template <typename T>
void loss_of(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const std::int64_t rows = s.in(0).shape[0], columns = s.in(0).shape[1];
    const std::int64_t classes = num_classes(attributes.vocabulary, columns);
    const double smoothing = attributes.label_smoothing;
    const LossTargets targets = loss_targets(s, a, 1, 2);
    double* losses = static_cast<double*>(a.workspace);
    cpu::parallel_for(
        rows, std::max<std::int64_t>(1, 1024 / classes), s.num_threads, [&](cpu::Range range, int) {
            for (std::int64_t row = range.begin; row < range.end; ++row) {
                const T* z = simd::input<T>(a, 0) + row * columns;
                const float greatest = greatest_of(z, classes);
                const RowSums sums = sums_of(z, classes, greatest);
                const double log_sum = std::log(sums.exponentials);
                simd::output<float>(a, 1)[row] = static_cast<float>(static_cast<double>(greatest) + log_sum);
                losses[row] = 0;
                const LossTarget<float> target = targets.at(row);
                if (target.label == attributes.ignore_index) continue;
                check_target(target, classes);
                const auto below = [&](std::int32_t label) {
                    return static_cast<double>(static_cast<float>(z[label])) - static_cast<double>(greatest);
                };
                const LossTarget<double> wide{target.label, target.second, static_cast<double>(target.share)};
                const double own = wide.mean(below(target.label), below(target.second));
                losses[row] = log_sum - (1 - smoothing) * own;
                if (smoothing != 0) losses[row] -= smoothing * sums.logits / static_cast<double>(classes);
            }
        });
    double loss = 0;
    for (std::int64_t row = 0; row < rows; ++row) loss += losses[row];
    simd::output<float>(a, 0)[0] = static_cast<float>(loss);
}

template <typename T>
void gradient_row(const T* z, T* grad, std::int64_t classes, float logsumexp, float seed, float everywhere) {
    simd::for_lanes(0, classes, [&](std::int64_t c, auto lanes) {
        const __m256 p =
            simd::exp_of_negative(_mm256_sub_ps(simd::load(z + c, lanes), _mm256_set1_ps(logsumexp)));
        simd::store(grad + c,
                    _mm256_mul_ps(_mm256_set1_ps(seed), _mm256_sub_ps(p, _mm256_set1_ps(everywhere))), lanes);
    });
}

template <typename T>
void gradient_of(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<LossAttributes>();
    const std::int64_t rows = s.in(1).shape[0], columns = s.in(1).shape[1];
    const std::int64_t classes = num_classes(attributes.vocabulary, columns);
    const float seed = simd::input<float>(a, 0)[0];
    const LossTargets targets = loss_targets(s, a, 2, 4);
    const double everywhere = attributes.label_smoothing / static_cast<double>(classes);
    cpu::parallel_for(
        rows, std::max<std::int64_t>(1, 1024 / classes), s.num_threads, [&](cpu::Range range, int) {
            for (std::int64_t row = range.begin; row < range.end; ++row) {
                const T* z = simd::input<T>(a, 1) + row * columns;
                T* grad = simd::output<T>(a, 0) + row * columns;
                const LossTarget<float> target = targets.at(row);
                if (target.label == attributes.ignore_index) {
                    std::fill_n(grad, columns, T{});
                    continue;
                }
                std::fill(grad + classes, grad + columns, T{});
                check_target(target, classes);
                // Before grad_z overwrites z, which may be the same memory.
                const std::int32_t aims[] = {target.label, target.second};
                const float own[] = {static_cast<float>(z[aims[0]]), static_cast<float>(z[aims[1]])};
                const float logsumexp = simd::input<float>(a, 3)[row];
                gradient_row(z, grad, classes, logsumexp, seed, static_cast<float>(everywhere));
                for (int i = 0; i < (aims[0] == aims[1] ? 1 : 2); ++i) {
                    const double p = std::exp(static_cast<double>(own[i]) - static_cast<double>(logsumexp));
                    const double wanted =
                        (1 - attributes.label_smoothing) * static_cast<double>(target.of(aims[i])) +
                        everywhere;
                    grad[aims[i]] = T(static_cast<float>(static_cast<double>(seed) * (p - wanted)));
                }
            }
        });
}

PreparedKernel prepare(const Signature& s) {
    const auto run = [s](const KernelArgs& a) {
        simd::with_storage(s.in(0).dtype, [&]<typename T>(T) { loss_of<T>(s, a); });
    };
    return {run, static_cast<std::size_t>(s.in(0).shape[0]) * sizeof(double), "avx2"};
}

void run_backward(const Signature& s, const KernelArgs& a) {
    simd::with_storage(s.in(1).dtype, [&]<typename T>(T) { gradient_of<T>(s, a); });
}

}  // namespace

void register_softmax_cross_entropy_cpu(KernelTable& table) {
    table.add({softmax_cross_entropy_op.name, "simd", simd::refusal, prepare});
    table.add(simd::kernel<run_backward>(softmax_cross_entropy_backward_op));
}

}  // namespace mpt

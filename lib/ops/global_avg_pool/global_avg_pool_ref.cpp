#include "ops/global_avg_pool/global_avg_pool.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_global_avg_pool(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    const std::int64_t pixels = x.dim(1) * x.dim(2);
    const std::int64_t channels = x.dim(3);
    for (std::int64_t n = 0; n < x.dim(0); ++n)
        for (std::int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (std::int64_t p = 0; p < pixels; ++p) sum += x((n * pixels + p) * channels + c);
            y.set(n * channels + c, sum / static_cast<double>(pixels));
        }
}

void run_global_avg_pool_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto grad_x = reference::output(s, a, 0);
    const std::int64_t pixels = grad_x.dim(1) * grad_x.dim(2);
    const std::int64_t channels = grad_x.dim(3);
    for (std::int64_t i = 0; i < grad_x.size(); ++i) {
        const std::int64_t n = i / (pixels * channels);
        grad_x.set(i, grad_y(n * channels + i % channels) / static_cast<double>(pixels));
    }
}

}  // namespace

void register_global_avg_pool_ref(KernelTable& table) {
    table.add(reference::kernel<run_global_avg_pool>(global_avg_pool_op));
    table.add(reference::kernel<run_global_avg_pool_backward>(global_avg_pool_backward_op));
}

}  // namespace mpt

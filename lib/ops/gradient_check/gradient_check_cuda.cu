#include "backends/cuda/rows.h"
#include "ops/cuda_kernel.h"
#include "ops/gradient_check/gradient_check.h"

namespace mpt {

namespace {

constexpr int kThreads = gpu::kRowThreads;

// Sums of squares in f64: those of finite f32 values cannot overflow it, so that one pass gives norm and
// finite check. A sum for each block, in a fixed order.
template <typename T>
MPT_KERNEL(kThreads)
void squares_kernel(std::int64_t elements, const T* gradient, double* of_block) {
    constexpr int kPack = gpu::kPerPack<T>;
    const std::int64_t packs = elements / kPack, step = gpu::num_blocks() * kThreads;
    const std::int64_t first = gpu::block_index() * kThreads + gpu::thread_index();
    double sum = 0;
    for (std::int64_t p = first; p < packs; p += step) {
        float v[kPack];
        gpu::load<kPack>(gradient + p * kPack, v);
        for (int k = 0; k < kPack; ++k) sum += static_cast<double>(v[k]) * static_cast<double>(v[k]);
    }
    if (const std::int64_t i = packs * kPack + first; i < elements) {
        const double v = static_cast<double>(gpu::widen(gradient[i]));
        sum += v * v;
    }
    sum = gpu::sum_block<kThreads>(sum);
    if (gpu::thread_index() == 0) of_block[gpu::block_index()] = sum;
}

MPT_KERNEL(kThreads)
void control_kernel(std::int64_t blocks, const double* of_block, const StepControl* before,
                    StepControl* after) {
    double sum = 0;
    for (std::int64_t b = gpu::thread_index(); b < blocks; b += kThreads) sum += of_block[b];
    sum = gpu::sum_block<kThreads>(sum);
    if (gpu::thread_index() != 0) return;
    // As checked() of gradient_check.cpp.
    StepControl control = *before;
    control.found_nonfinite = std::isfinite(sum) ? 0 : 1;
    control.gradient_norm = std::sqrt(sum) / static_cast<double>(control.loss_scale);
    *after = control;
}

std::int64_t num_blocks(const gpu::Call& s) {
    return gpu::blocks_for(*s.device, s.in(0).shape.num_elements(), kThreads * 16);
}

void run_gradient_check(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t elements = s.in(0).shape.num_elements(), blocks = num_blocks(s);
    auto* of_block = static_cast<double*>(a.workspace);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::launch(*s.device, {.blocks = blocks, .threads = kThreads}, squares_kernel<T>, elements,
                    a.in<T>(0), of_block);
    });
    gpu::launch(*s.device, {.threads = kThreads}, control_kernel, blocks, of_block, a.in<StepControl>(1),
                a.out<StepControl>(0));
}

std::size_t sums_bytes(const gpu::Call& s) {
    return static_cast<std::size_t>(num_blocks(s)) * sizeof(double);
}

}  // namespace

MPT_REGISTER_CUDA(gradient_check)(KernelTable& table) {
    table.add(gpu::kernel<run_gradient_check, sums_bytes>(gradient_check_op));
}

}  // namespace mpt

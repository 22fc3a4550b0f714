#include "backends/cuda/rows.h"
#include "ops/all_finite/all_finite.h"
#include "ops/cuda_kernel.h"

namespace mpt {

namespace {

constexpr int kThreads = gpu::kRowThreads;

struct Tensors {
    const float* data[kMostFiniteInputs];
    std::int64_t elements[kMostFiniteInputs];
};

// A block a tensor: how many of its elements are not finite.
MPT_KERNEL(kThreads)
void count_kernel(Tensors tensors, std::int32_t* of_tensor) {
    const std::int64_t t = gpu::block_index();
    std::int32_t bad = 0;
    for (std::int64_t i = gpu::thread_index(); i < tensors.elements[t]; i += kThreads)
        bad += std::isfinite(tensors.data[t][i]) ? 0 : 1;
    bad = gpu::sum_block<kThreads>(bad);
    if (gpu::thread_index() == 0) of_tensor[t] = bad;
}

MPT_KERNEL(kThreads)
void flag_kernel(std::int64_t tensors, const std::int32_t* of_tensor, std::int32_t* flag) {
    std::int32_t bad = 0;
    for (std::int64_t t = gpu::thread_index(); t < tensors; t += kThreads) bad += of_tensor[t] != 0 ? 1 : 0;
    bad = gpu::sum_block<kThreads>(bad);
    if (gpu::thread_index() == 0) *flag = bad == 0 ? 1 : 0;
}

void run_all_finite(const gpu::Call& s, const KernelArgs& a) {
    Tensors tensors{};
    const auto count = static_cast<std::int64_t>(s.inputs.size());
    for (std::int64_t t = 0; t < count; ++t) {
        tensors.data[t] = a.in<float>(static_cast<int>(t));
        tensors.elements[t] = s.in(static_cast<int>(t)).shape.num_elements();
    }
    auto* of_tensor = static_cast<std::int32_t*>(a.workspace);
    gpu::launch(*s.device, {.blocks = count, .threads = kThreads}, count_kernel, tensors, of_tensor);
    gpu::launch(*s.device, {.threads = kThreads}, flag_kernel, count, of_tensor, a.out<std::int32_t>(0));
}

std::size_t counts_bytes(const gpu::Call& s) {
    return s.inputs.size() * sizeof(std::int32_t);
}

}  // namespace

MPT_REGISTER_CUDA(all_finite)(KernelTable& table) {
    table.add(gpu::kernel<run_all_finite, counts_bytes>(all_finite_op));
}

}  // namespace mpt

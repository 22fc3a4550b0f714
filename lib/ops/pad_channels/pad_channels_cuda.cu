#include "ops/cuda_kernel.h"
#include "ops/pad_channels/pad_channels.h"

namespace mpt {

namespace {

// Weights of one convolution: small, so an element a thread.
template <typename T>
MPT_KERNEL(256)
void pad_kernel(std::int64_t elements, std::int64_t before, std::int64_t after, const T* x, T* y) {
    for (std::int64_t i = gpu::block_index() * 256 + gpu::thread_index(); i < elements;
         i += gpu::num_blocks() * 256) {
        const std::int64_t c = i % after;
        y[i] = c < before ? x[i / after * before + c] : gpu::narrow<T>(0.0f);
    }
}

void run(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t elements = gpu::elements_of(s);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::launch(*s.device, {.blocks = gpu::blocks_for(*s.device, elements, 256), .threads_meet = false},
                    pad_kernel<T>, elements, s.in(0).shape[-1], s.out(0).shape[-1], a.in<T>(0), a.out<T>(0));
    });
}

}  // namespace

MPT_REGISTER_CUDA(pad_channels)(KernelTable& table) {
    table.add(gpu::kernel<run>(pad_channels_op));
    table.add(gpu::kernel<run>(pad_channels_backward_op));
}

}  // namespace mpt

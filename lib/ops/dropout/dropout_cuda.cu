#include "ops/cuda_kernel.h"
#include "ops/dropout/dropout_cuda.h"

namespace mpt {

namespace {

template <typename T>
MPT_KERNEL(256)
void dropout_kernel(gpu::DropoutMask mask, const std::int32_t* step, std::int64_t elements, const T* x,
                    T* y) {
    const gpu::DropoutCounter counter = mask.counter(*step);
    // One block of four random numbers serves the elements i, i + 8, i + 16 and i + 24 of a group of 32.
    const std::int64_t blocks = (elements + 31) / 32 * 8;
    const std::int64_t stride = gpu::num_blocks() * gpu::num_threads();
    for (std::int64_t b = gpu::block_index() * gpu::num_threads() + gpu::thread_index(); b < blocks;
         b += stride) {
        const gpu::PhiloxWords words = mask.words(counter, b);
        const std::int64_t first = b / 8 * 32 + b % 8;
        for (int k = 0; k < 4; ++k) {
            const std::int64_t i = first + 8 * k;
            if (i < elements) y[i] = gpu::narrow<T>(mask.apply(words.word[k], gpu::widen(x[i])));
        }
    }
}

void run_dropout(const gpu::Call& s, const KernelArgs& a) {
    const gpu::DropoutMask mask(s.attributes.as<DropoutAttributes>());
    const std::int64_t elements = gpu::elements_of(s);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::launch(*s.device, {.blocks = gpu::blocks_for(*s.device, elements, 1024), .threads_meet = false},
                    dropout_kernel<T>, mask, a.in<std::int32_t>(1), elements, a.in<T>(0), a.out<T>(0));
    });
}

}  // namespace

MPT_REGISTER_CUDA(dropout)(KernelTable& table) {
    table.add(gpu::kernel<run_dropout>(dropout_op));
}

}  // namespace mpt

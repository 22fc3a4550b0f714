#include "ops/cuda_kernel.h"
#include "ops/swiglu/swiglu.h"

namespace mpt {

namespace {

MPT_DEVICE float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}

struct SwiGlu {
    MPT_DEVICE float operator()(std::int64_t, float gate, float up) const {
        return gate * sigmoid(gate) * up;
    }
};

// Both gradients in one pass. Outputs may take the place of grad_y and up: a pack is read whole before it is
// written.
template <int pack, typename T>
MPT_DEVICE void backward_pack(const T* grad_y, const T* gate, const T* up, T* grad_gate, T* grad_up) {
    float g[pack], x[pack], u[pack];
    gpu::load<pack>(grad_y, g);
    gpu::load<pack>(gate, x);
    gpu::load<pack>(up, u);
    MPT_UNROLL
    for (int k = 0; k < pack; ++k) {
        const float open = sigmoid(x[k]);
        u[k] = g[k] * u[k] * open * (1 + x[k] * sigmoid(-x[k]));
        g[k] *= x[k] * open;
    }
    gpu::store<pack>(grad_gate, u);
    gpu::store<pack>(grad_up, g);
}

template <typename T>
MPT_KERNEL(gpu::kMapThreads)
void backward_kernel(std::int64_t elements, const T* grad_y, const T* gate, const T* up, T* grad_gate,
                     T* grad_up) {
    constexpr int kPack = gpu::kPerPack<T>;
    const std::int64_t packs = elements / kPack;
    const std::int64_t first = gpu::block_index() * gpu::num_threads() + gpu::thread_index();
    for (std::int64_t p = first; p < packs; p += gpu::num_blocks() * gpu::num_threads()) {
        const std::int64_t i = p * kPack;
        backward_pack<kPack>(grad_y + i, gate + i, up + i, grad_gate + i, grad_up + i);
    }
    if (const std::int64_t i = packs * kPack + first; i < elements)
        backward_pack<1>(grad_y + i, gate + i, up + i, grad_gate + i, grad_up + i);
}

void run_swiglu(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), SwiGlu{}, a.out<T>(0), a.in<T>(0), a.in<T>(1));
    });
}

void run_swiglu_backward(const gpu::Call& s, const KernelArgs& a) {
    const std::int64_t elements = gpu::elements_of(s);
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::launch(*s.device,
                    {.blocks = gpu::blocks_for(*s.device, elements, gpu::kMapThreads * gpu::kPerPack<T>),
                     .threads = gpu::kMapThreads,
                     .threads_meet = false},
                    backward_kernel<T>, elements, a.in<T>(0), a.in<T>(1), a.in<T>(2), a.out<T>(0),
                    a.out<T>(1));
    });
}

}  // namespace

MPT_REGISTER_CUDA(swiglu)(KernelTable& table) {
    table.add(gpu::kernel<run_swiglu>(swiglu_op, gpu::refusal_unless_same<0, 1>));
    table.add(gpu::kernel<run_swiglu_backward>(swiglu_backward_op, gpu::refusal_unless_same<0, 1, 2>));
}

}  // namespace mpt

#include "ops/cuda_kernel.h"
#include "ops/global_avg_pool/global_avg_pool.h"

namespace mpt {

namespace {

// A thread for each pack of channels of an image.
template <int pack, typename T>
MPT_KERNEL(128)
void average_kernel(std::int64_t images, std::int64_t pixels, std::int64_t channels, const T* x, T* y) {
    const std::int64_t at = (gpu::block_index() * 128 + gpu::thread_index()) * pack;
    if (at >= images * channels) return;
    const T* from = x + at / channels * pixels * channels + at % channels;
    float sums[pack] = {};
    for (std::int64_t p = 0; p < pixels; ++p) {
        float v[pack];
        gpu::load<pack>(from + p * channels, v);
        for (int k = 0; k < pack; ++k) sums[k] += v[k];
    }
    for (int k = 0; k < pack; ++k) sums[k] /= static_cast<float>(pixels);
    gpu::store<pack>(y + at, sums);
}

template <int pack, typename T>
MPT_KERNEL(128)
void spread_kernel(std::int64_t elements, std::int64_t pixels, std::int64_t channels, const T* grad_y,
                   T* grad_x) {
    const std::int64_t stride = gpu::num_blocks() * 128 * pack;
    for (std::int64_t i = (gpu::block_index() * 128 + gpu::thread_index()) * pack; i < elements;
         i += stride) {
        float v[pack];
        gpu::load<pack>(grad_y + i / (pixels * channels) * channels + i % channels, v);
        for (int k = 0; k < pack; ++k) v[k] /= static_cast<float>(pixels);
        gpu::store<pack>(grad_x + i, v);
    }
}

void run_forward(const gpu::Call& s, const KernelArgs& a) {
    const Shape& x = s.in(0).shape;
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(x[3], [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(
                *s.device,
                {.blocks = gpu::blocks_for(x[0] * x[3], 128 * pack), .threads = 128, .threads_meet = false},
                average_kernel<pack, T>, x[0], x[1] * x[2], x[3], a.in<T>(0), a.out<T>(0));
        });
    });
}

void run_backward(const gpu::Call& s, const KernelArgs& a) {
    const Shape& x = s.out(0).shape;
    gpu::with_storage(s.out(0).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(x[3], [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device,
                        {.blocks = gpu::blocks_for(*s.device, x.num_elements(), 128 * pack),
                         .threads = 128,
                         .threads_meet = false},
                        spread_kernel<pack, T>, x.num_elements(), x[1] * x[2], x[3], a.in<T>(0), a.out<T>(0));
        });
    });
}

gpu::Planned<gpu::PoolArgs> plan_library(const Signature& signature) {
    const gpu::Call s(signature);
    gpu::PoolSpec p;
    p.average = true;
    p.backward = s.op == &global_avg_pool_backward_op;
    const Shape& x = p.backward ? s.out(0).shape : s.in(0).shape;
    p.n = x[0], p.c = x[3], p.p = p.q = 1;
    p.h = p.window_h = x[1], p.w = p.window_w = x[2];
    p.dtype = s.in(0).dtype;
    const auto own = [s](const gpu::PoolArgs& a) {
        void* const input = const_cast<void*>(a.from);
        (s.op == &global_avg_pool_backward_op ? run_backward : run_forward)(
            s, {{&input, 1}, {&a.to, 1}, a.workspace});
    };
    return s.device->plan_pool(p, {own, 0});
}

std::string library_refusal(const Signature& s) {
    const std::string why = gpu::refusal(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device" : plan_library(s).refusal;
}

PreparedKernel prepare_library(const Signature& s) {
    const gpu::Planned<gpu::PoolArgs> plan = plan_library(s);
    return {[plan](const KernelArgs& a) {
                gpu::PoolArgs args{a.inputs[0], a.outputs[0]};
                args.workspace = a.workspace;
                plan.run(args);
            },
            plan.workspace_bytes, plan.description};
}

}  // namespace

MPT_REGISTER_CUDA(global_avg_pool)(KernelTable& table) {
    for (const OpType* op : {&global_avg_pool_op, &global_avg_pool_backward_op})
        table.add({op->name, "cudnn", library_refusal, prepare_library});
    table.add(gpu::kernel<run_forward>(global_avg_pool_op));
    table.add(gpu::kernel<run_backward>(global_avg_pool_backward_op));
}

}  // namespace mpt

#include "backends/cuda/column_sums.h"
#include "ops/conv2d/own_conv_cuda.h"
#include "ops/conv2d_backward_fused/conv2d_backward_fused_library_cuda.h"

namespace mpt {

namespace {

namespace in = conv2d_backward_fused_input;

template <typename T>
void reduce(const gpu::Call& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Conv2dBackwardFusedOutputs outputs = outputs_of(a);
    const Shape& x = s.out(outputs.grad_x).shape;
    const std::int64_t rows = x.num_elements() / x[3], c = x[3];
    float *sums = args.out<float>(outputs.reductions), *none = nullptr;
    const T* grad = args.out<T>(outputs.grad_x);
    if (a.num_references == 2)
        gpu::column_sums(*s.device, rows, c, gpu::SumAndTwoProducts{},
                         gpu::StoreSums<3>{{sums, sums + c, sums + 2 * c}}, args.workspace, none, grad,
                         args.in<T>(in::kRef1), args.in<T>(in::kRef2));
    else
        gpu::column_sums(*s.device, rows, c, gpu::SumAndProduct{}, gpu::StoreSums<2>{{sums, sums + c}},
                         args.workspace, none, grad, args.in<T>(in::kRef1));
}

void run_own(const gpu::Call& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    const Conv2dBackwardFusedOutputs outputs = outputs_of(a);
    const Shape& g = s.in(in::kG).shape;
    const std::int64_t channels = a.need_data ? s.in(in::kW).shape[3] : s.in(in::kX).shape[3];
    const gpu::OwnConv v{g[0],       a.height, a.width, channels, g[3], a.kernel_h,
                         a.kernel_w, g[1],     g[2],    a.stride, a.pad};
    gpu::with_storage(s.in(in::kG).dtype, [&]<typename T>(T) {
        const auto vector = [&](bool given, int index) { return given ? args.in<float>(index) : nullptr; };
        const gpu::ConvGradient<T> gradient{args.in<T>(in::kG), a.grad_affine ? args.in<T>(in::kY) : nullptr,
                                            vector(a.grad_affine, in::kA), vector(a.grad_affine, in::kB),
                                            vector(a.grad_affine, in::kC)};
        const gpu::ConvInput<T> x{s.has(in::kX) ? args.in<T>(in::kX) : nullptr,
                                  vector(a.input_affine, in::kScale), vector(a.input_affine, in::kShift),
                                  a.input_relu};
        if (a.need_weight)
            gpu::launch(*s.device,
                        {.blocks = gpu::elements_of(s, outputs.buffer), .threads = gpu::kRowThreads},
                        gpu::own_weight_kernel<T>, v, gradient, x, args.in<float>(in::kBuffer),
                        args.out<float>(outputs.buffer));
        if (!a.need_data) return;
        gpu::launch(
            *s.device,
            {.blocks = gpu::blocks_for(gpu::elements_of(s, outputs.grad_x), 256), .threads_meet = false},
            gpu::own_data_kernel<T>, v, gradient, args.in<T>(in::kW),
            a.add ? args.in<T>(in::kAddend) : nullptr, x, a.mask != InputMask::kOff,
            args.out<T>(outputs.grad_x));
        if (a.reductions) reduce<T>(s, args);
    });
}

std::size_t sums_bytes(const gpu::Call& s) {
    const auto& a = s.attributes.as<Conv2dBackwardFusedAttributes>();
    if (!a.reductions) return 0;
    const Shape& x = s.out(outputs_of(a).grad_x).shape;
    return gpu::column_sums_bytes(*s.device, x.num_elements() / x[3], x[3], 3);
}

void sum_gradient(const gpu::Call& s, const KernelArgs& args) {
    gpu::with_storage(s.in(in::kG).dtype, [&]<typename T>(T) { reduce<T>(s, args); });
}

PreparedKernel prepare_library(const Signature& s) {
    return gpu::prepare_library_backward(s, sum_gradient, sums_bytes(gpu::Call(s)));
}

}  // namespace

MPT_REGISTER_CUDA(conv2d_backward_fused)(KernelTable& table) {
    for (const OpType* op :
         {&conv2d_backward_fused_op, &conv2d_backward_data_fused_op, &conv2d_backward_weight_fused_op}) {
        table.add({op->name, "cudnn", gpu::library_backward_refusal, prepare_library});
        Kernel own = gpu::kernel<run_own, sums_bytes>(*op);
        own.name = "own";
        table.add(own);
    }
}

}  // namespace mpt

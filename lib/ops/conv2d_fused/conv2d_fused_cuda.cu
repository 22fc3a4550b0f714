#include "backends/cuda/column_sums.h"
#include "ops/conv2d/own_conv_cuda.h"
#include "ops/conv2d_fused/conv2d_fused_library_cuda.h"

namespace mpt {

namespace {

namespace in = conv2d_fused_input;

void run_own(const gpu::Call& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<Conv2dFusedAttributes>();
    const Shape &x = s.in(in::kX).shape, &w = s.in(in::kW).shape, &y = s.out(0).shape;
    const gpu::OwnConv v{x[0], x[1], x[2], x[3], w[0], w[1], w[2], y[1], y[2], a.stride, a.pad};
    const float* scale = a.input_affine ? args.in<float>(in::kScale) : nullptr;
    const float* shift = a.input_affine ? args.in<float>(in::kShift) : nullptr;
    gpu::with_storage(s.in(in::kX).dtype, [&]<typename T>(T) {
        gpu::launch(*s.device, {.blocks = gpu::blocks_for(y.num_elements(), 256), .threads_meet = false},
                    gpu::own_forward_kernel<T>, v,
                    gpu::ConvInput<T>{args.in<T>(in::kX), scale, shift, a.input_relu}, args.in<T>(in::kW),
                    args.out<T>(0));
        if (!a.statistics) return;
        float* sums = args.out<float>(1);
        gpu::column_sums(*s.device, y.num_elements() / y[3], y[3], gpu::SumAndSquares{},
                         gpu::StoreSums<2>{{sums, sums + y[3]}}, args.workspace, static_cast<float*>(nullptr),
                         static_cast<const T*>(args.out<T>(0)));
    });
}

std::size_t sums_bytes(const gpu::Call& s) {
    const Shape& y = s.out(0).shape;
    return gpu::column_sums_bytes(*s.device, y.num_elements() / y[3], y[3], 2);
}

std::string refusal(const Signature& s) {
    return s.in(in::kX).dtype == s.in(in::kW).dtype ? gpu::refusal(s) : "needs one type of data";
}

}  // namespace

MPT_REGISTER_CUDA(conv2d_fused)(KernelTable& table) {
    table.add(
        {conv2d_fused_op.name, "cudnn", gpu::library_convolution_refusal, gpu::prepare_library_convolution});
    Kernel own = gpu::kernel<run_own, sums_bytes>(conv2d_fused_op, refusal);
    own.name = "own";
    table.add(own);
}

}  // namespace mpt

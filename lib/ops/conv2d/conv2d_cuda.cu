#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/own_conv_cuda.h"

namespace mpt {

namespace {

gpu::ConvolutionSpec spec_of(const Signature& s) {
    gpu::ConvolutionSpec c;
    Shape x, w, y;
    if (s.op == &conv2d_op) {
        const auto& a = s.attributes.as<Conv2dAttributes>();
        c.kind = gpu::ConvolutionKind::kForward;
        c.stride = a.stride;
        c.pad = a.pad;
        x = s.in(0).shape, w = s.in(1).shape, y = s.out(0).shape;
    } else if (s.op == &conv2d_backward_data_op) {
        const auto& a = s.attributes.as<Conv2dBackwardDataAttributes>();
        c.kind = gpu::ConvolutionKind::kBackwardData;
        c.stride = a.stride;
        c.pad = a.pad;
        y = s.in(0).shape, w = s.in(1).shape, x = s.out(0).shape;
    } else {
        const auto& a = s.attributes.as<Conv2dBackwardWeightAttributes>();
        c.kind = gpu::ConvolutionKind::kBackwardWeight;
        c.stride = a.stride;
        c.pad = a.pad;
        y = s.in(0).shape, x = s.in(1).shape, w = s.out(0).shape;
    }
    c.n = x[0], c.h = x[1], c.w = x[2], c.c = x[3];
    c.k = w[0], c.r = w[1], c.s = w[2];
    c.p = y[1], c.q = y[2];
    c.dtype = s.in(0).dtype;
    const gpu::Device* device = gpu::current_device();  // null when the own kernel runs, which rounds nothing
    c.tf32 = device != nullptr && device->settings().tf32;
    return c;
}

std::string library_refusal(const Signature& s) {
    const std::string why = gpu::refusal_unless_same<0, 1>(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device"
                                            : gpu::current_device()->plan_convolution(spec_of(s)).refusal;
}

struct Same {
    MPT_DEVICE float operator()(std::int64_t, float x) const { return x; }
};

// cuDNN writes the weights' gradient in the type of the data: it goes through the workspace, and from there
// into f32.
PreparedKernel prepare_narrow_weight(const gpu::Call& s, const gpu::Planned<gpu::ConvolutionArgs>& plan) {
    const std::int64_t elements = gpu::elements_of(s);
    const std::size_t narrow_bytes =
        (static_cast<std::size_t>(elements) * size_of(s.in(0).dtype) + 255) / 256 * 256;
    return {[s, plan, elements, narrow_bytes](const KernelArgs& a) {
                auto* bytes = static_cast<std::byte*>(a.workspace);
                plan.run({a.inputs[0], a.inputs[1], bytes, bytes + narrow_bytes});
                gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
                    gpu::map(*s.device, elements, Same{}, a.out<float>(0), reinterpret_cast<const T*>(bytes));
                });
            },
            narrow_bytes + plan.workspace_bytes, plan.description + ", then widened"};
}

PreparedKernel prepare_library(const Signature& signature) {
    const gpu::Call s(signature);
    const gpu::Planned<gpu::ConvolutionArgs> plan = s.device->plan_convolution(spec_of(s));
    if (s.op == &conv2d_backward_weight_op && s.in(0).dtype != DType::f32)
        return prepare_narrow_weight(s, plan);
    return {[plan](const KernelArgs& a) {
                plan.run({a.inputs[0], a.inputs[1], a.outputs[0], a.workspace});
            },
            plan.workspace_bytes, plan.description};
}

void run_own(const gpu::Call& s, const KernelArgs& a) {
    const gpu::ConvolutionSpec c = spec_of(s);
    const gpu::OwnConv v{c.n, c.h, c.w, c.c, c.k, c.r, c.s, c.p, c.q, c.stride, c.pad};
    const std::int64_t elements = gpu::elements_of(s);
    const gpu::Launch flat = {.blocks = gpu::blocks_for(elements, 256), .threads_meet = false};
    gpu::with_storage(c.dtype, [&]<typename T>(T) {
        if (c.kind == gpu::ConvolutionKind::kForward)
            gpu::launch(*s.device, flat, gpu::own_forward_kernel<T>, v,
                        gpu::ConvInput<T>{a.in<T>(0), nullptr, nullptr, false}, a.in<T>(1), a.out<T>(0));
        else if (c.kind == gpu::ConvolutionKind::kBackwardData)
            gpu::launch(*s.device, flat, gpu::own_data_kernel<T>, v,
                        gpu::ConvGradient<T>{a.in<T>(0), nullptr, nullptr, nullptr, nullptr}, a.in<T>(1),
                        nullptr, gpu::ConvInput<T>{}, false, a.out<T>(0));
        else
            gpu::launch(*s.device, {.blocks = elements, .threads = gpu::kRowThreads},
                        gpu::own_weight_kernel<T>, v,
                        gpu::ConvGradient<T>{a.in<T>(0), nullptr, nullptr, nullptr, nullptr},
                        gpu::ConvInput<T>{a.in<T>(1), nullptr, nullptr, false}, nullptr, a.out<float>(0));
    });
}

}  // namespace

MPT_REGISTER_CUDA(conv2d)(KernelTable& table) {
    for (const OpType* op : {&conv2d_op, &conv2d_backward_data_op, &conv2d_backward_weight_op}) {
        table.add({op->name, "cudnn", library_refusal, prepare_library});
        table.add(gpu::kernel<run_own>(*op, gpu::refusal_unless_same<0, 1>));
    }
}

}  // namespace mpt

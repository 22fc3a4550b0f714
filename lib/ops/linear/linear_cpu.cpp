#include "backends/cpu/matmul.h"
#include "ops/linear/linear.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

cpu::MatmulOperand operand(const Signature& s, int index, bool transposed,
                           Pointwise activation = Pointwise::kIdentity) {
    return {s.in(index).dtype, transposed, activation};
}
Pointwise of_input(const Signature& s) {
    return s.attributes.as<LinearAttributes>().of_input;
}

// Places of the operands among the inputs; kNone where there is none.
struct Places {
    int a = 0, b = 1, bias = kNone, x = kNone;
};

PreparedKernel prepared(const Signature& s, const cpu::MatmulSpec& spec, const Places& at) {
    const auto run = [spec, at, num_threads = s.num_threads](const KernelArgs& args) {
        cpu::matmul(spec,
                    {.a = args.in<void>(at.a),
                     .b = args.in<void>(at.b),
                     .c = args.out<void>(0),
                     .bias = at.bias == kNone ? nullptr : args.in<float>(at.bias),
                     .x = at.x == kNone ? nullptr : args.in<void>(at.x),
                     .workspace = args.workspace},
                    num_threads);
    };
    return {run, cpu::matmul_workspace_bytes(spec, s.num_threads), cpu::matmul_description(spec)};
}

PreparedKernel prepare(const Signature& s) {
    const Shape& x = s.in(0).shape;
    cpu::MatmulSpec spec{.m = x[0], .n = s.in(1).shape[0], .k = x[1]};
    spec.a = operand(s, 0, false, of_input(s));
    spec.b = operand(s, 1, true);
    spec.c = s.out(0).dtype;
    spec.bias = s.has(2);
    return prepared(s, spec, {.bias = spec.bias ? 2 : kNone});
}

PreparedKernel prepare_backward_data(const Signature& s) {
    const Shape& g = s.in(0).shape;
    cpu::MatmulSpec spec{.m = g[0], .n = s.in(1).shape[1], .k = g[1]};
    spec.a = operand(s, 0, false);
    spec.b = operand(s, 1, false);
    spec.c = s.out(0).dtype;
    spec.derivative_at_x = of_input(s);
    return prepared(s, spec, {.x = s.has(2) ? 2 : kNone});
}

template <int grad_y>
PreparedKernel prepare_backward_weight(const Signature& s) {
    const Shape& g = s.in(grad_y).shape;
    cpu::MatmulSpec spec{.m = g[1], .n = s.in(grad_y + 1).shape[1], .k = g[0]};
    spec.a = operand(s, grad_y, true);
    spec.b = operand(s, grad_y + 1, false, of_input(s));
    spec.c = s.out(0).dtype;
    spec.accumulate = grad_y == 1;
    return prepared(s, spec, {.a = grad_y, .b = grad_y + 1});
}

// x, whose derivative is taken, is stored as the gradient is.
std::string refusal_backward_data(const Signature& s) {
    if (s.has(2) && s.in(2).dtype != s.out(0).dtype) return "needs one type of data";
    return simd::refusal(s);
}

}  // namespace

void register_linear_cpu(KernelTable& table) {
    table.add({linear_op.name, "matmul", simd::refusal, prepare});
    table.add({linear_backward_data_op.name, "matmul", refusal_backward_data, prepare_backward_data});
    table.add({linear_backward_weight_op.name, "matmul", simd::refusal, prepare_backward_weight<0>});
    table.add(
        {linear_backward_weight_accumulate_op.name, "matmul", simd::refusal, prepare_backward_weight<1>});
}

}  // namespace mpt

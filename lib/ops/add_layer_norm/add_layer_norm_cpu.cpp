#include "ops/add_layer_norm/add_layer_norm.h"
#include "ops/row_norm.h"

namespace mpt {

namespace {

using row_norm::Centre;

void run_forward(const Signature& s, const KernelArgs& a) {
    row_norm::run_forward<Centre::kMean>(
        s, a, s.attributes.as<LayerNormAttributes>().epsilon,
        {.other = 1, .gain = 2, .bias = 3, .sum = 0, .y = 1, .mean = 2, .rstd = 3});
}

PreparedKernel prepare_backward(const Signature& s) {
    return row_norm::prepare_backward<Centre::kMean>(s, {.mean = 3, .rstd = 4, .other = 5, .grad_bias = 2});
}

}  // namespace

void register_add_layer_norm_cpu(KernelTable& table) {
    table.add(simd::kernel<run_forward>(add_layer_norm_op, simd::refusal_unless_same<1>));
    table.add({layer_norm_backward_add_op.name, "simd", simd::refusal_unless_same<1, 5>, prepare_backward});
}

}  // namespace mpt

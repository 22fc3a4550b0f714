#include "ops/layer_norm/layer_norm.h"
#include "ops/row_norm.h"

namespace mpt {

namespace {

using row_norm::Centre;

void run_forward(const Signature& s, const KernelArgs& a) {
    row_norm::run_forward<Centre::kMean>(s, a, s.attributes.as<LayerNormAttributes>().epsilon,
                                         {.bias = 2, .mean = 1, .rstd = 2});
}

PreparedKernel prepare_backward(const Signature& s) {
    return row_norm::prepare_backward<Centre::kMean>(s, {.mean = 3, .rstd = 4, .grad_bias = 2});
}

}  // namespace

void register_layer_norm_cpu(KernelTable& table) {
    table.add(simd::kernel<run_forward>(layer_norm_op));
    table.add({layer_norm_backward_op.name, "simd", simd::refusal_unless_same<1>, prepare_backward});
}

}  // namespace mpt

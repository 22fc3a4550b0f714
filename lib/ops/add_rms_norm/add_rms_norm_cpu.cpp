#include "ops/add_rms_norm/add_rms_norm.h"
#include "ops/row_norm.h"

namespace mpt {

namespace {

using row_norm::Centre;

void run_forward(const Signature& s, const KernelArgs& a) {
    row_norm::run_forward<Centre::kZero>(s, a, s.attributes.as<RmsNormAttributes>().epsilon,
                                         {.other = 1, .gain = 2, .sum = 0, .y = 1, .rstd = 2});
}

PreparedKernel prepare_backward(const Signature& s) {
    return row_norm::prepare_backward<Centre::kZero>(s, {.other = 4});
}

}  // namespace

void register_add_rms_norm_cpu(KernelTable& table) {
    table.add(simd::kernel<run_forward>(add_rms_norm_op, simd::refusal_unless_same<1>));
    table.add({rms_norm_backward_add_op.name, "simd", simd::refusal_unless_same<1, 4>, prepare_backward});
}

}  // namespace mpt

#include "ops/rms_norm/rms_norm.h"
#include "ops/row_norm.h"

namespace mpt {

namespace {

using row_norm::Centre;

void run_forward(const Signature& s, const KernelArgs& a) {
    row_norm::run_forward<Centre::kZero>(s, a, s.attributes.as<RmsNormAttributes>().epsilon, {});
}

PreparedKernel prepare_backward(const Signature& s) {
    return row_norm::prepare_backward<Centre::kZero>(s, {});
}

}  // namespace

void register_rms_norm_cpu(KernelTable& table) {
    table.add(simd::kernel<run_forward>(rms_norm_op));
    table.add({rms_norm_backward_op.name, "simd", simd::refusal_unless_same<1>, prepare_backward});
}

}  // namespace mpt

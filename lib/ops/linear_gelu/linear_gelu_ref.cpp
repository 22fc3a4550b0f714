#include "ops/activation_reference.h"
#include "ops/linear_gelu/linear_gelu.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_linear_gelu(const Signature& s, const KernelArgs& a) {
    const std::vector<double> x = reference::input(s, a, 0).values(), w = reference::input(s, a, 1).values();
    const auto y = reference::output(s, a, 0), u = reference::output(s, a, 1);
    const std::int64_t in = s.in(0).shape[1], out = y.dim(1);
    for (std::int64_t m = 0; m < y.dim(0); ++m)
        for (std::int64_t o = 0; o < out; ++o) {
            double sum = s.has(2) ? reference::input(s, a, 2)(o) : 0.0;
            for (std::int64_t i = 0; i < in; ++i)
                sum += x[static_cast<std::size_t>(m * in + i)] * w[static_cast<std::size_t>(o * in + i)];
            u.set(m * out + o, sum);
            y.set(m * out + o, reference::activation(Pointwise::kGeluTanh, sum).y);
        }
}

}  // namespace

void register_linear_gelu_ref(KernelTable& table) {
    table.add(reference::kernel<run_linear_gelu>(linear_gelu_op));
}

}  // namespace mpt

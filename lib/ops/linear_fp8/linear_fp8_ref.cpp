#include "ops/linear_fp8/linear_fp8.h"
#include "ops/reference.h"

namespace mpt {

namespace {

// `buffer` 1: input 0 is added to.
template <int buffer>
void run_product(const Signature& s, const KernelArgs& a) {
    const std::vector<double> left = reference::input(s, a, buffer).values();
    const std::vector<double> right = reference::input(s, a, buffer + 1).values();
    const double scale = reference::input(s, a, buffer + 2)(0) * reference::input(s, a, buffer + 3)(0);
    const auto d = reference::output(s, a, 0);
    const std::int64_t depth = s.in(buffer).shape[1];
    for (std::int64_t m = 0; m < d.dim(0); ++m)
        for (std::int64_t n = 0; n < d.dim(1); ++n) {
            double sum = 0;
            for (std::int64_t k = 0; k < depth; ++k)
                sum += left[static_cast<std::size_t>(m * depth + k)] *
                       right[static_cast<std::size_t>(n * depth + k)];
            sum *= scale;
            if (buffer == 0 && s.has(4)) sum += reference::input(s, a, 4)(n);
            if (buffer == 1) sum += reference::input(s, a, 0)(m * d.dim(1) + n);
            d.set(m * d.dim(1) + n, sum);
        }
}

}  // namespace

void register_linear_fp8_ref(KernelTable& table) {
    table.add(reference::kernel<run_product<0>>(linear_fp8_op));
    table.add(reference::kernel<run_product<1>>(linear_fp8_accumulate_op));
}

}  // namespace mpt

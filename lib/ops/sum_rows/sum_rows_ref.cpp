#include "ops/reference.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

namespace {

void run_sum_rows(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    const std::int64_t columns = x.dim(1);
    for (std::int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (std::int64_t r = 0; r < x.dim(0); ++r) sum += x(r * columns + c);
        y.set(c, sum);
    }
}

}  // namespace

void register_sum_rows_ref(KernelTable& table) {
    table.add(reference::kernel<run_sum_rows>(sum_rows_op));
}

}  // namespace mpt

#include "ops/add_rows/add_rows.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_add_rows(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto table = reference::input(s, a, 1);
    const auto y = reference::output(s, a, 0);
    const std::int64_t part = x.dim(1) * x.dim(2);
    for (std::int64_t i = 0; i < x.size(); ++i) y.set(i, x(i) + table(i % part));
}

void run_add_rows_backward(const Signature& s, const KernelArgs& a) {
    const auto grad_y = reference::input(s, a, 0);
    const auto grad_table = reference::output(s, a, 0);
    const std::int64_t part = grad_y.dim(1) * grad_y.dim(2);
    for (std::int64_t i = 0; i < grad_table.size(); ++i) {
        double sum = 0;
        for (std::int64_t b = 0; b < grad_y.dim(0) && i < part; ++b) sum += grad_y(b * part + i);
        grad_table.set(i, sum);
    }
}

}  // namespace

void register_add_rows_ref(KernelTable& table) {
    table.add(reference::kernel<run_add_rows>(add_rows_op));
    table.add(reference::kernel<run_add_rows_backward>(add_rows_backward_op));
}

}  // namespace mpt

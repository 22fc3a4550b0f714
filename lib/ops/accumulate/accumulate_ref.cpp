#include "ops/accumulate/accumulate.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_accumulate(const Signature& s, const KernelArgs& a) {
    const auto buffer = reference::input(s, a, 0);
    const auto grad = reference::input(s, a, 1);
    const auto sum = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < sum.size(); ++i) sum.set(i, buffer(i) + grad(i));
}

}  // namespace

void register_accumulate_ref(KernelTable& table) {
    table.add(reference::kernel<run_accumulate>(accumulate_op));
}

}  // namespace mpt

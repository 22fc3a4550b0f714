#include "ops/reference.h"
#include "ops/reshape/reshape.h"

namespace mpt {

namespace {

void run_reshape(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    for (std::int64_t i = 0; i < x.size(); ++i) reference::output(s, a, 0).set(i, x(i));
}

}  // namespace

void register_reshape_ref(KernelTable& table) {
    table.add(reference::kernel<run_reshape>(reshape_op));
}

}  // namespace mpt

#include "ops/cast/cast.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_cast(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, x(i));
}

}  // namespace

void register_cast_ref(KernelTable& table) {
    table.add(reference::kernel<run_cast>(cast_op));
}

}  // namespace mpt

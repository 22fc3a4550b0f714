#include <cmath>

#include "ops/all_finite/all_finite.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_all_finite(const Signature& s, const KernelArgs& a) {
    bool finite = true;
    for (int i = 0; i < static_cast<int>(s.inputs.size()); ++i) {
        const auto values = reference::input(s, a, i);
        for (std::int64_t e = 0; e < values.size(); ++e) finite = finite && std::isfinite(values(e));
    }
    reference::output(s, a, 0).set(0, finite ? 1 : 0);
}

}  // namespace

void register_all_finite_ref(KernelTable& table) {
    table.add(reference::kernel<run_all_finite>(all_finite_op));
}

}  // namespace mpt

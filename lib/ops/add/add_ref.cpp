#include "ops/add/add.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_add(const Signature& s, const KernelArgs& args) {
    const auto a = reference::input(s, args, 0);
    const auto b = reference::input(s, args, 1);
    const auto y = reference::output(s, args, 0);
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, a(i) + b(i));
}

}  // namespace

void register_add_ref(KernelTable& table) {
    table.add(reference::kernel<run_add>(add_op));
}

}  // namespace mpt

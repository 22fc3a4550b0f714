#include "ops/multiply/multiply.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_multiply(const Signature& s, const KernelArgs& args) {
    const auto a = reference::input(s, args, 0);
    const auto b = reference::input(s, args, 1);
    const auto y = reference::output(s, args, 0);
    for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, a(i) * b(i));
}

}  // namespace

void register_multiply_ref(KernelTable& table) {
    table.add(reference::kernel<run_multiply>(multiply_op));
}

}  // namespace mpt

#include <cstring>

#include "ops/gradient_check/gradient_check.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    const auto gradient = reference::input(s, a, 0);
    double sum = 0;
    for (std::int64_t i = 0; i < gradient.size(); ++i) sum += gradient(i) * gradient(i);
    StepControl control;
    std::memcpy(&control, a.in<void>(1), sizeof control);
    control = checked(control, sum);
    std::memcpy(a.out<void>(0), &control, sizeof control);
}

}  // namespace

void register_gradient_check_ref(KernelTable& table) {
    table.add(reference::kernel<run>(gradient_check_op));
}

}  // namespace mpt

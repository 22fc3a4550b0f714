#include "ops/dropout/dropout.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_dropout(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<DropoutAttributes>();
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    const DropoutNumbers numbers(attributes, *a.in<std::int32_t>(1));
    const std::uint32_t threshold = dropout_threshold(attributes);
    for (std::int64_t i = 0; i < x.size(); ++i)
        y.set(i, numbers.of_element(i) < threshold ? 0.0 : x(i) / (1 - attributes.probability));
}

}  // namespace

void register_dropout_ref(KernelTable& table) {
    table.add(reference::kernel<run_dropout>(dropout_op));
}

}  // namespace mpt

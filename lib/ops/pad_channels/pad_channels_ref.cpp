#include "ops/pad_channels/pad_channels.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run(const Signature& s, const KernelArgs& a) {
    const auto x = reference::input(s, a, 0), y = reference::output(s, a, 0);
    const std::int64_t before = s.in(0).shape[-1], after = s.out(0).shape[-1];
    for (std::int64_t i = 0; i < y.size(); ++i) {
        const std::int64_t c = i % after;
        y.set(i, c < before ? x(i / after * before + c) : 0.0);
    }
}

}  // namespace

void register_pad_channels_ref(KernelTable& table) {
    table.add(reference::kernel<run>(pad_channels_op));
    table.add(reference::kernel<run>(pad_channels_backward_op));
}

}  // namespace mpt

#include "ops/reference.h"
#include "ops/token_positions/token_positions.h"

namespace mpt {

namespace {

void run_token_positions(const Signature& s, const KernelArgs& a) {
    const std::int64_t batch = s.in(0).shape[0];
    const auto tokens = static_cast<std::int32_t>(s.attributes.as<TokenPositionsAttributes>().tokens);
    const std::int32_t* position = a.in<std::int32_t>(0);
    std::int32_t* positions = a.out<std::int32_t>(0);
    std::int32_t* lengths = a.out<std::int32_t>(1);
    for (std::int64_t b = 0; b < batch; ++b) {
        for (std::int32_t t = 0; t < tokens; ++t) *positions++ = position[b] + t;
        lengths[b] = position[b] + tokens;
    }
}

}  // namespace

void register_token_positions_ref(KernelTable& table) {
    table.add(reference::kernel<run_token_positions>(token_positions_op));
}

}  // namespace mpt

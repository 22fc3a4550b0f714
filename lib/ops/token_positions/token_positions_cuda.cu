#include "ops/cuda_kernel.h"
#include "ops/token_positions/token_positions.h"

namespace mpt {

namespace {

MPT_KERNEL(256)
void token_positions_kernel(std::int64_t batch, std::int32_t tokens, const std::int32_t* position,
                            std::int32_t* positions, std::int32_t* lengths) {
    for (std::int64_t i = gpu::block_index() * 256 + gpu::thread_index(); i < batch * tokens;
         i += gpu::num_blocks() * 256) {
        const std::int64_t b = i / tokens;
        const auto t = static_cast<std::int32_t>(i % tokens);
        positions[i] = position[b] + t;
        if (t == 0) lengths[b] = position[b] + tokens;
    }
}

void run_token_positions(const gpu::Call& s, const KernelArgs& a) {
    gpu::launch(*s.device,
                {.blocks = gpu::blocks_for(*s.device, gpu::elements_of(s), 256), .threads_meet = false},
                token_positions_kernel, s.in(0).shape[0],
                static_cast<std::int32_t>(s.attributes.as<TokenPositionsAttributes>().tokens),
                a.in<std::int32_t>(0), a.out<std::int32_t>(0), a.out<std::int32_t>(1));
}

}  // namespace

MPT_REGISTER_CUDA(token_positions)(KernelTable& table) {
    table.add(gpu::kernel<run_token_positions>(token_positions_op));
}

}  // namespace mpt

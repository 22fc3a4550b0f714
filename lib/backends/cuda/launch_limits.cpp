#include <string>

#include "backends/cuda/device.h"
#include "core/error.h"

namespace mpt::gpu {

// CUDA's limits for every compute capability since 3.0.
void check_limits(const Device& device, std::int64_t blocks, std::int64_t blocks_y, int threads,
                  std::size_t shared_bytes) {
    MPT_CHECK(blocks >= 1 && blocks <= 0x7fffffff && blocks_y >= 1 && blocks_y <= 65535,
              "a launch of " + std::to_string(blocks) + " x " + std::to_string(blocks_y) + " blocks");
    MPT_CHECK(threads >= 1 && threads <= 1024, "a launch of " + std::to_string(threads) + " threads a block");
    MPT_CHECK(static_cast<std::int64_t>(shared_bytes) <= device.info().shared_bytes_per_block,
              "a launch with " + std::to_string(shared_bytes) + " bytes of shared memory a block, where " +
                  device.info().name + " has " + std::to_string(device.info().shared_bytes_per_block));
}

}  // namespace mpt::gpu

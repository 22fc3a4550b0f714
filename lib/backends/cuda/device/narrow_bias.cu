#include "backends/cuda/device/cublaslt.h"
#include "backends/cuda/map.h"

namespace mpt::gpu {

namespace {

struct Same {
    MPT_DEVICE float operator()(std::int64_t, float x) const { return x; }
};

}  // namespace

void narrow_bias(Device& device, DType type, std::int64_t count, const float* bias, void* to) {
    with_storage(type, [&]<typename T>(T) { map(device, count, Same{}, static_cast<T*>(to), bias); });
}

}  // namespace mpt::gpu

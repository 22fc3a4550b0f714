// What stands in for cuBLASLt and cuDNN in the twin: plain loops, sums in f32, one rounding on store.
#pragma once

#include "backends/cuda/device.h"

namespace mpt::gpu {

void host_product(const ProductSpec& spec, const ProductArgs& args);
void host_convolution(const ConvolutionSpec& spec, const ConvolutionArgs& args);
void host_attention(const AttentionSpec& spec, const AttentionArgs& args);
void host_pool(const PoolSpec& spec, const PoolArgs& args);
void host_norm(const NormSpec& spec, const NormArgs& args);

}  // namespace mpt::gpu

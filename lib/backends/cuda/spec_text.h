// Specs in words: keys of plan caches and journals, and lines of tables.
#pragma once

#include <string>

#include "backends/cuda/device.h"

namespace mpt::gpu {

std::string text_of(const ProductSpec& spec);
std::string text_of(const ConvolutionSpec& spec);
std::string text_of(const AttentionSpec& spec);
std::string text_of(const PoolSpec& spec);
std::string text_of(const NormSpec& spec);

}  // namespace mpt::gpu

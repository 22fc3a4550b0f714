// Residual networks (He et al. 2015) with torchvision's names.
//   ImageNet stem (7x7/2, max pool): depth 18, 34 (basic blocks), 50, 101, 152 (bottlenecks, v1.5: the stride
//   is on the 3x3) CIFAR type (3x3 stem, 16/32/64 channels, basic blocks, 1x1 projections): depth 20, 32, 44,
//   56, 110. And 14, a bottleneck a stage: small enough for tests; configs do not offer it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/builder.h"
#include "layers/conv_norm.h"

namespace mpt {

struct ResnetConfig {
    std::int64_t depth = 20;
    std::int64_t num_classes = 10;
    bool zero_init_residual = false;
    double norm_momentum = 0.1, norm_epsilon = 1e-5;
    NormMode mode = NormMode::kTrain;
};

// Depths that exist, rising.
std::vector<std::int64_t> resnet_depths();

// images: normalised [N,H,W,C] -> logits [N,num_classes]. Throws Error(kUsage) for a depth that does not
// exist or images too small.
ValueId resnet(GraphBuilder& builder, ValueId images, const ResnetConfig& config);

}  // namespace mpt

// Convolution and batch norm, with torchvision's names and initialisers.
#pragma once

#include <string>

#include "graph/builder.h"

namespace mpt {

// Batch norm trains on the batch's statistics and keeps running ones, or evaluates with the running ones.
enum class NormMode : std::uint8_t { kTrain, kEvaluate };

struct ConvNormConfig {
    std::int64_t out_channels = 0;
    std::int64_t kernel = 3, stride = 1, pad = 1;
    NormMode mode = NormMode::kTrain;
    double norm_momentum = 0.1, norm_epsilon = 1e-5;
    float norm_gain = 1;  // initial value of gamma
};

// x[N,H,W,C] -> batch_norm(conv(x)) [N,P,Q,K]. Parameters: <conv>.weight (Kaiming normal, fan out: He et al.
// 2015), <norm>.weight, <norm>.bias, <norm>.running_mean, <norm>.running_var.
ValueId conv_norm(GraphBuilder& builder, ValueId x, const ConvNormConfig& config, const std::string& conv,
                  const std::string& norm);

}  // namespace mpt

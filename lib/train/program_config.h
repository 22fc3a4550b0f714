// From the words of a config to the structs of the rooms below.
#pragma once

#include "config/run_config.h"
#include "layers/update.h"
#include "models/gpt/gpt.h"
#include "models/resnet/resnet.h"
#include "models/transformer/transformer.h"
#include "passes/pipeline.h"

namespace mpt {

DType narrow_type(PrecisionMode mode);
// Warm-up and milestones given in epochs are turned into updates.
UpdateConfig update_config(const RunConfig& config, std::int64_t updates_per_epoch,
                           std::int64_t total_updates, const SegmentTable& segments);
PrecisionPolicy precision_policy(const PrecisionConfig& config);
// For evaluation; set `training` for dropout.
GptConfig gpt_config(const RunConfig& config, std::int64_t vocabulary);
TransformerConfig transformer_config(const RunConfig& config, std::int64_t vocabulary);
ResnetConfig resnet_config(const ModelConfig& config, std::int64_t num_classes, NormMode mode);

}  // namespace mpt

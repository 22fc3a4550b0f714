// From a batch to its loss: the graph's inputs, the model, and the sum of the losses as output "loss_sum".
#pragma once

#include "train/program_graphs.h"

namespace mpt {

enum class ModelUse { kTrain, kEvaluate };

// By model.type. Inputs:
//   resnet:      images u8 [N,H,W,C], labels i32 [N], with mixup or cutmix second_labels i32 [N] and
//                label_shares f32 [N]; further outputs hits1 and hits5, i32
//   gpt:         tokens i32 [B,T], targets i32 [B*T], -1: does not count
//   transformer: source i32 [B,S], source_lengths i32 [B], target i32 [B,T], targets i32 [B*T]
ValueId model_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape, ModelUse use);

ValueId image_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape, ModelUse use);
ValueId gpt_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape, ModelUse use);
ValueId transformer_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape,
                         ModelUse use);

}  // namespace mpt

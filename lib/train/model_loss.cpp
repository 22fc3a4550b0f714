#include "train/model_loss.h"

namespace mpt {

ValueId model_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape,
                   ModelUse use) {
    switch (context.config.model.type) {
        case ModelType::kGpt:
            return gpt_loss(builder, context, shape, use);
        case ModelType::kTransformer:
            return transformer_loss(builder, context, shape, use);
        case ModelType::kResnet:
            break;
    }
    return image_loss(builder, context, shape, use);
}

}  // namespace mpt

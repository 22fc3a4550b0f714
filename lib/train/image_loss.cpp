// Images: normalisation, ResNet, classification loss.
#include "layers/classification_loss.h"
#include "ops/image_normalize/image_normalize.h"
#include "train/model_loss.h"

namespace mpt {
namespace {

ValueId normalized_images(GraphBuilder& builder, const GraphContext& context, std::int64_t batch) {
    const DataDescription& data = context.data;
    const ValueId images =
        builder.input("images", {{batch, data.height, data.width, data.channels}, DType::u8});
    ImageNormalizeAttributes attributes;
    for (std::size_t c = 0; c < static_cast<std::size_t>(data.channels); ++c) {
        const double mean = data.mean.empty() ? 0.0 : static_cast<double>(data.mean[c]);
        const double std = data.std.empty() ? 1.0 : static_cast<double>(data.std[c]);
        attributes.scale.push_back(static_cast<float>(1.0 / (255.0 * std)));
        attributes.shift.push_back(static_cast<float>(-mean / std));
    }
    return image_normalize(builder, images, attributes);
}

}  // namespace

ValueId image_loss(GraphBuilder& builder, const GraphContext& context, const BatchShape& shape,
                   ModelUse use) {
    const NormMode mode = use == ModelUse::kTrain ? NormMode::kTrain : NormMode::kEvaluate;
    const ValueId x = normalized_images(builder, context, shape.rows);
    LossLabels labels = builder.input("labels", {{shape.rows}, DType::i32});
    const AugmentConfig& augment = context.config.data.augment;
    if (use == ModelUse::kTrain && (augment.mixup > 0 || augment.cutmix > 0)) {
        labels.second = builder.input("second_labels", {{shape.rows}, DType::i32});
        labels.share = builder.input("label_shares", {{shape.rows}, DType::f32});
    }
    const ValueId logits =
        resnet(builder, x, resnet_config(context.config.model, context.data.num_classes, mode));
    const double smoothing = use == ModelUse::kTrain ? context.config.train.label_smoothing : 0;
    return classification_loss(builder, logits, labels, smoothing).loss_sum;
}

}  // namespace mpt

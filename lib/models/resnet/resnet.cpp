#include "models/resnet/resnet.h"

#include <array>

#include "core/error.h"
#include "layers/linear_layer.h"
#include "ops/add/add.h"
#include "ops/global_avg_pool/global_avg_pool.h"
#include "ops/max_pool/max_pool.h"
#include "ops/relu/relu.h"

namespace mpt {

namespace {

enum class Block : std::uint8_t { kBasic, kBottleneck };

struct Architecture {
    std::int64_t depth;
    Block block;
    bool imagenet_stem;
    std::array<std::int64_t, 4> blocks;  // a stage; 0: no such stage
};

constexpr std::array<Architecture, 11> kArchitectures = {{
    {14, Block::kBottleneck, true, {1, 1, 1, 1}},
    {18, Block::kBasic, true, {2, 2, 2, 2}},
    {20, Block::kBasic, false, {3, 3, 3, 0}},
    {32, Block::kBasic, false, {5, 5, 5, 0}},
    {34, Block::kBasic, true, {3, 4, 6, 3}},
    {44, Block::kBasic, false, {7, 7, 7, 0}},
    {50, Block::kBottleneck, true, {3, 4, 6, 3}},
    {56, Block::kBasic, false, {9, 9, 9, 0}},
    {101, Block::kBottleneck, true, {3, 4, 23, 3}},
    {110, Block::kBasic, false, {18, 18, 18, 0}},
    {152, Block::kBottleneck, true, {3, 8, 36, 3}},
}};

const Architecture& architecture_of(std::int64_t depth) {
    for (const Architecture& a : kArchitectures)
        if (a.depth == depth) return a;
    throw Error(ExitCode::kUsage,
                "model.depth: there is no ResNet-" + std::to_string(depth) +
                    "; use 18, 34, 50, 101, 152 (ImageNet stem) or 20, 32, 44, 56, 110 (CIFAR type)");
}

class ResnetBuilder {
  public:
    ResnetBuilder(GraphBuilder& builder, const ResnetConfig& config)
        : builder_(builder), config_(config), architecture_(architecture_of(config.depth)) {}

    ValueId build(ValueId images) {
        ValueId x = stem(images);
        std::int64_t width = architecture_.imagenet_stem ? 64 : 16;
        int block_index = 0;
        for (std::size_t stage = 0; stage < architecture_.blocks.size(); ++stage, width *= 2)
            for (std::int64_t b = 0; b < architecture_.blocks[stage]; ++b) {
                const GraphBuilder::Scope scope(
                    builder_, "layer" + std::to_string(stage + 1) + "." + std::to_string(b));
                builder_.set_block(block_index++);
                x = block(x, width, stage != 0 && b == 0 ? 2 : 1);
                builder_.set_block(kNone);
            }
        x = global_avg_pool(builder_, x, "avgpool");
        return linear_layer(builder_, x, config_.num_classes, "fc");
    }

  private:
    ConvNormConfig conv(std::int64_t out_channels, std::int64_t kernel, std::int64_t stride) const {
        return {out_channels,        kernel, stride, kernel / 2, config_.mode, config_.norm_momentum,
                config_.norm_epsilon};
    }

    ValueId stem(ValueId images) {
        const bool imagenet = architecture_.imagenet_stem;
        ValueId x = conv_norm(builder_, images, imagenet ? conv(64, 7, 2) : conv(16, 3, 1), "conv1", "bn1");
        x = relu(builder_, x, "relu");
        return imagenet ? max_pool(builder_, x, {3, 2, 1}, "maxpool").y : x;
    }

    ValueId block(ValueId x, std::int64_t width, std::int64_t stride) {
        const bool bottleneck = architecture_.block == Block::kBottleneck;
        const std::int64_t out_channels = bottleneck ? 4 * width : width;
        ValueId y = bottleneck ? bottleneck_branch(x, width, stride) : basic_branch(x, width, stride);
        ValueId shortcut = x;
        if (stride != 1 || builder_.type(x).shape[-1] != out_channels)
            shortcut = conv_norm(builder_, x, conv(out_channels, 1, stride), "downsample.0", "downsample.1");
        return relu(builder_, add(builder_, y, shortcut), "relu_out");
    }

    ConvNormConfig last(ConvNormConfig config) const {
        if (config_.zero_init_residual) config.norm_gain = 0;
        return config;
    }

    ValueId basic_branch(ValueId x, std::int64_t width, std::int64_t stride) {
        x = relu(builder_, conv_norm(builder_, x, conv(width, 3, stride), "conv1", "bn1"), "relu1");
        return conv_norm(builder_, x, last(conv(width, 3, 1)), "conv2", "bn2");
    }

    ValueId bottleneck_branch(ValueId x, std::int64_t width, std::int64_t stride) {
        x = relu(builder_, conv_norm(builder_, x, conv(width, 1, 1), "conv1", "bn1"), "relu1");
        x = relu(builder_, conv_norm(builder_, x, conv(width, 3, stride), "conv2", "bn2"), "relu2");
        return conv_norm(builder_, x, last(conv(4 * width, 1, 1)), "conv3", "bn3");
    }

    GraphBuilder& builder_;
    ResnetConfig config_;
    const Architecture& architecture_;
};

}  // namespace

std::vector<std::int64_t> resnet_depths() {
    std::vector<std::int64_t> depths;
    for (const Architecture& a : kArchitectures) depths.push_back(a.depth);
    return depths;
}

ValueId resnet(GraphBuilder& builder, ValueId images, const ResnetConfig& config) {
    return ResnetBuilder(builder, config).build(images);
}

}  // namespace mpt

// Small residual networks, differentiated and in a precision, before and after the fuse pass.
#pragma once

#include <functional>

#include "graph/verifier.h"
#include "layers/classification_loss.h"
#include "layers/conv_norm.h"
#include "layers/linear_layer.h"
#include "ops/add/add.h"
#include "ops/global_avg_pool/global_avg_pool.h"
#include "ops/max_pool/max_pool.h"
#include "ops/relu/relu.h"
#include "passes/append_update.h"
#include "passes/differentiate.h"
#include "passes/fuse.h"
#include "passes/precision.h"
#include "passes/recompute.h"
#include "passes/simplify.h"

namespace mpt::test {

// Every kernel is a reference; those of the fused convolutions pass for fast ones.
inline const KernelTable& willing_kernels() {
    static const KernelTable table = [] {
        KernelTable t = reference_kernels();
        for (auto& [op, kernels] : t.by_op)
            if (op.find("_fused") != std::string::npos)
                for (Kernel& kernel : kernels) kernel.name = "willing";
        return t;
    }();
    return table;
}

// Every kernel is a reference; those of whole batch norms pass for a library's.
inline const KernelTable& norm_library_kernels() {
    static const KernelTable table = [] {
        KernelTable t = reference_kernels();
        for (const char* op : {"batch_norm_add_relu", "batch_norm_backward_fused"})
            for (Kernel& kernel : t.by_op.find(op)->second) kernel.name = "cudnn";
        return t;
    }();
    return table;
}

struct FusedNetwork {
    Graph graph;
    VariableTable variables;
    GraphBuilder builder{graph, &variables};
    ValueId x = kNone, labels = kNone, seed = kNone;

    using Body = std::function<ValueId(GraphBuilder&, ValueId x)>;

    // body(x) ends in an image; a classifier of 3 classes follows.
    FusedNetwork(const Shape& images, const Body& body) {
        graph.name = "network";
        x = builder.input("x", {images, DType::f32});
        labels = builder.input("labels", {Shape{images[0]}, DType::i32});
        const ValueId features = global_avg_pool(builder, body(builder, x), "avgpool");
        const ValueId loss =
            classification_loss(builder, linear_layer(builder, features, 3, "fc"), labels, 0.1).loss_sum;
        seed = builder.input("seed", {{}, DType::f32});
        loss_ = loss;
    }

    void train() { append_accumulation(builder, differentiate(builder, loss_, seed)); }
    void recompute() { recompute_blocks(graph); }
    void narrow(DType type) {
        assign_precision(graph, {type, {}});
        simplify(graph);
        verify(graph, GraphStage::kPrecision);
    }
    void fuse_with(const KernelTable& kernels) {
        fuse(graph, kernels);
        verify(graph, GraphStage::kFused);
    }

  private:
    ValueId loss_ = kNone;
};

inline ValueId conv_norm_relu(GraphBuilder& b, ValueId x, const ConvNormConfig& config,
                              const std::string& conv, const std::string& norm) {
    return relu(b, conv_norm(b, x, config, conv, norm), norm + ".relu");
}

struct BlockConfig {
    std::int64_t channels = 8, stride = 1;
    bool projection = false, bottleneck = false;
};

// A basic or a bottleneck block (v1.5) under the scope `name`.
inline ValueId residual_block(GraphBuilder& b, ValueId x, const BlockConfig& config,
                              const std::string& name) {
    const GraphBuilder::Scope scope(b, name);
    const auto conv = [&](std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
        return ConvNormConfig{channels, kernel, stride, kernel / 2};
    };
    const std::int64_t c = config.channels;
    ValueId y = kNone;
    if (config.bottleneck) {
        y = conv_norm_relu(b, x, conv(c / 2, 1, 1), "conv1", "bn1");
        y = conv_norm_relu(b, y, conv(c / 2, 3, config.stride), "conv2", "bn2");
        y = conv_norm(b, y, conv(c, 1, 1), "conv3", "bn3");
    } else {
        y = conv_norm_relu(b, x, conv(c, 3, config.stride), "conv1", "bn1");
        y = conv_norm(b, y, conv(c, 3, 1), "conv2", "bn2");
    }
    if (config.projection) x = conv_norm(b, x, conv(c, 1, config.stride), "downsample.0", "downsample.1");
    return relu(b, add(b, y, x), "relu_out");
}

}  // namespace mpt::test

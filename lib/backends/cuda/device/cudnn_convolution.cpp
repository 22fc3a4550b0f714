#include "backends/cuda/device/cudnn_convolution.h"

#include "backends/cuda/device/cudnn_operations.h"

namespace mpt::gpu {

namespace {

using Id = CudnnGraph::Id;
using Kept = CudnnGraph::Kept;

struct OperationNames {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

OperationNames names_of(ConvolutionKind kind) {
    switch (kind) {
        case ConvolutionKind::kBackwardData:
            return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
        case ConvolutionKind::kBackwardWeight:
            return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
        default:
            return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    }
}

Descriptor convolution_descriptor(const ConvolutionSpec& s) {
    Descriptor c(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    c.set_data_type(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    c.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    c.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    c.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::vector<std::int64_t>{1, 1});
    c.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, std::vector<std::int64_t>{s.stride, s.stride});
    c.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, std::vector<std::int64_t>{s.pad, s.pad});
    c.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, std::vector<std::int64_t>{s.pad, s.pad});
    c.finalize();
    return c;
}

void add_product(CudnnGraph& graph, const ConvolutionSpec& s, Id x, Id w, Id y) {
    const Descriptor& convolution = graph.keep(convolution_descriptor(s));
    const OperationNames names = names_of(s.kind);
    Descriptor& operation = graph.operation(names.type);
    const float one = 1, zero = 0;
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
    operation.set(names.convolution, convolution);
    operation.set(names.x, graph[x]);
    operation.set(names.w, graph[w]);
    operation.set(names.y, graph[y]);
}

// The tensors of one convolution.
struct Images {
    CudnnGraph& graph;
    const ConvolutionSpec& s;
    Id x() const { return graph.image(s.dtype, s.n, s.c, s.h, s.w); }
    Id w() const { return graph.image(s.dtype, s.k, s.c, s.r, s.s); }
    Id y() const { return graph.image(s.dtype, s.n, s.k, s.p, s.q); }
    // What is computed on the way, in f32.
    Id wide() const { return graph.image(DType::f32, s.n, s.c, s.h, s.w, Kept::kVirtual); }
};

// relu?(scale x + shift) instead of x.
Id affine_of(const Images& i, Id x, ConvolutionIds& ids) {
    const auto vector = [&] { return i.graph.tensor(i.s.dtype, {1, i.s.c, 1, 1}, {i.s.c, 1, i.s.c, i.s.c}); };
    ids.scale = vector(), ids.shift = vector();
    const Id scaled = i.wide(), shifted = i.wide();
    add_pointwise(i.graph, CUDNN_POINTWISE_MUL, x, ids.scale, scaled);
    add_pointwise(i.graph, CUDNN_POINTWISE_ADD, scaled, ids.shift, shifted);
    if (!i.s.fusion.relu) return shifted;
    const Id activated = i.wide();
    add_pointwise(i.graph, CUDNN_POINTWISE_RELU_FWD, shifted, activated);
    return activated;
}

ConvolutionIds add_forward(const Images& i) {
    ConvolutionIds ids;
    ids.first = i.x(), ids.second = i.w(), ids.result = i.y();
    const Id x = i.s.fusion.affine ? affine_of(i, ids.first, ids) : ids.first;
    add_product(i.graph, i.s, x, ids.second, ids.result);
    if (i.s.fusion.statistics) {
        ids.sum = i.graph.channels(i.s.k), ids.sum_of_products = i.graph.channels(i.s.k);
        add_statistics(i.graph, ids.result, ids.sum, ids.sum_of_products);
    }
    return ids;
}

ConvolutionIds add_backward_weight(const Images& i) {
    ConvolutionIds ids;
    ids.first = i.y(), ids.second = i.x(), ids.result = i.w();
    const Id x = i.s.fusion.affine ? affine_of(i, ids.second, ids) : ids.second;
    add_product(i.graph, i.s, x, ids.result, ids.first);
    return ids;
}

// The activation whose sign masks, as cuDNN knows it behind a batch norm: ((masked - 0) * 1) * scale + shift.
Id recomputed_activation(const Images& i, ConvolutionIds& ids) {
    const Id centred = i.wide(), normed = i.wide(), scaled = i.wide(), shifted = i.wide();
    ids.scale = i.graph.channels(i.s.c), ids.shift = i.graph.channels(i.s.c);
    add_pointwise(i.graph, CUDNN_POINTWISE_SUB, ids.masked, ids.zeros, centred);
    add_pointwise(i.graph, CUDNN_POINTWISE_MUL, centred, ids.ones, normed);
    add_pointwise(i.graph, CUDNN_POINTWISE_MUL, normed, ids.scale, scaled);
    add_pointwise(i.graph, CUDNN_POINTWISE_ADD, scaled, ids.shift, shifted);
    return shifted;
}

// Sums of the stored gradient and of its products with other tensors.
void add_sums(const Images& i, Id gradient, ConvolutionIds& ids) {
    ids.sum = i.graph.channels(i.s.c);
    add_reduction(i.graph, CUDNN_REDUCE_TENSOR_ADD, gradient, ids.sum);
    for (int r = 0; r < i.s.fusion.references; ++r) {
        const Id product = i.wide();
        ids.references[r] = i.x(), ids.sums_of_products[r] = i.graph.channels(i.s.c);
        add_pointwise(i.graph, CUDNN_POINTWISE_MUL, gradient, ids.references[r], product);
        add_reduction(i.graph, CUDNN_REDUCE_TENSOR_ADD, product, ids.sums_of_products[r]);
    }
}

ConvolutionIds add_backward_data(const Images& i) {
    const ConvolutionFusion& f = i.s.fusion;
    CudnnGraph& graph = i.graph;
    ConvolutionIds ids;
    ids.first = i.y(), ids.second = i.w(), ids.result = i.x();
    // Norm weights take what a relu let through, or what they are given.
    const bool more = f.mask || f.reductions;
    Id gradient = f.add || more ? i.wide() : ids.result;
    add_product(graph, i.s, gradient, ids.second, ids.first);
    if (f.add) {
        const Id sum = more ? i.wide() : ids.result;
        ids.addend = i.x();
        add_pointwise(graph, CUDNN_POINTWISE_ADD, gradient, ids.addend, sum);
        gradient = sum;
    }
    if (f.affine || f.reductions) ids.zeros = graph.channels(i.s.c), ids.ones = graph.channels(i.s.c);
    if (f.mask || f.reductions) ids.masked = i.x();
    if (f.mask) {
        const Id activation = f.affine ? recomputed_activation(i, ids) : ids.masked;
        add_relu_backward(graph, gradient, activation, ids.result);
        gradient = ids.result;
    }
    if (f.reductions) {
        ids.sum = graph.channels(i.s.c), ids.sum_of_products = graph.channels(i.s.c);
        for (Id& scratch : ids.scratch) scratch = graph.channels(i.s.c);
        add_norm_weights_backward(
            graph, {ids.masked, gradient, ids.zeros, ids.ones, ids.ones, ids.sum_of_products, ids.sum,
                    ids.scratch[0], ids.scratch[1], ids.scratch[2]});
    }
    if (f.references > 0) add_sums(i, gradient, ids);
    return ids;
}

}  // namespace

std::string refusal_of(const ConvolutionSpec& s) {
    const ConvolutionFusion& f = s.fusion;
    const std::int64_t channels = s.kind == ConvolutionKind::kForward ? s.k : s.c;
    // Sums lie one behind the other, and a graph promises cuDNN that each begins on 16 bytes.
    if ((f.statistics || f.reductions || f.references > 0) && channels % 4 != 0)
        return "cuDNN takes sums of multiples of 4 channels";
    return {};
}

ConvolutionIds add_convolution(CudnnGraph& graph, const ConvolutionSpec& spec) {
    const Images images{graph, spec};
    switch (spec.kind) {
        case ConvolutionKind::kForward:
            return add_forward(images);
        case ConvolutionKind::kBackwardData:
            return add_backward_data(images);
        default:
            return add_backward_weight(images);
    }
}

}  // namespace mpt::gpu

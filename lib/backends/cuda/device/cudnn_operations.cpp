#include "backends/cuda/device/cudnn_operations.h"

namespace mpt::gpu {

namespace {

using Id = CudnnGraph::Id;

// Describes what a pointwise operation computes, and begins the operation.
Descriptor& begin_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, cudnnDataType_t arithmetic,
                            std::int64_t axis = -1) {
    Descriptor p(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    p.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    p.set_data_type(CUDNN_ATTR_POINTWISE_MATH_PREC, arithmetic);
    if (axis >= 0) p.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    p.finalize();
    const Descriptor& kept = graph.keep(std::move(p));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kept);
    return operation;
}

}  // namespace

void add_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, Id x, Id y) {
    Descriptor& operation = begin_pointwise(graph, mode, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph[y]);
}

void add_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, Id x, Id b, Id y) {
    Descriptor& operation = begin_pointwise(graph, mode, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, graph[b]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph[y]);
}

void add_relu_backward(CudnnGraph& graph, Id dy, Id x, Id dx) {
    Descriptor& operation = begin_pointwise(graph, CUDNN_POINTWISE_RELU_BWD, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, graph[dy]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, graph[dx]);
}

void add_index(CudnnGraph& graph, Id x, std::int64_t axis, Id y) {
    Descriptor& operation = begin_pointwise(graph, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, axis);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph[y]);
}

void add_comparison(CudnnGraph& graph, cudnnPointwiseMode_t mode, Id a, Id b, Id y) {
    Descriptor& operation = begin_pointwise(graph, mode, CUDNN_DATA_BOOLEAN);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph[a]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, graph[b]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph[y]);
}

void add_selection(CudnnGraph& graph, Id condition, Id a, Id b, Id y) {
    Descriptor& operation = begin_pointwise(graph, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, graph[a]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, graph[b]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, graph[condition]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, graph[y]);
}

void add_reduction(CudnnGraph& graph, cudnnReduceTensorOp_t how, Id x, Id y) {
    Descriptor r(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    r.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    r.set_data_type(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    r.finalize();
    const Descriptor& kept = graph.keep(std::move(r));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kept);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, graph[y]);
}

void add_matmul(CudnnGraph& graph, Id a, Id b, Id c) {
    Descriptor m(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    m.set_data_type(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    m.finalize();
    const Descriptor& kept = graph.keep(std::move(m));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kept);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, graph[a]);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, graph[b]);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, graph[c]);
}

void add_reshape(CudnnGraph& graph, Id x, Id y) {
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, graph[y]);
}

void add_statistics(CudnnGraph& graph, Id x, Id sum, Id square_sum) {
    const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode);
    operation.set_data_type(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, graph[x]);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, graph[sum]);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, graph[square_sum]);
}

void add_norm_weights_backward(CudnnGraph& graph, const NormWeightsIds& ids) {
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR);
    operation.set_data_type(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_DATA_FLOAT);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, graph[ids.x]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, graph[ids.dy]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, graph[ids.mean]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, graph[ids.rstd]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, graph[ids.gamma]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, graph[ids.grad_gamma]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, graph[ids.grad_beta]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, graph[ids.dy_scale]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, graph[ids.x_scale]);
    operation.set(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, graph[ids.shift]);
}

}  // namespace mpt::gpu

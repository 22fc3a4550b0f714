#include "backends/cuda/device/cudnn_operations.h"

#include <initializer_list>
#include <optional>

namespace mpt::gpu {

namespace {

using Id = CudnnGraph::Id;

struct Operand {
    cudnnBackendAttributeName_t name;
    Id tensor;
};

void add_operands(CudnnGraph& graph, Descriptor& operation, std::initializer_list<Operand> operands) {
    for (const Operand& operand : operands) operation.set(operand.name, graph[operand.tensor]);
}

void add_pointwise_operation(CudnnGraph& graph, cudnnPointwiseMode_t mode, cudnnDataType_t arithmetic,
                             std::initializer_list<Operand> operands, std::int64_t axis = -1,
                             std::optional<cudnnNanPropagation_t> nan = {}) {
    Descriptor p(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    p.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    p.set_data_type(CUDNN_ATTR_POINTWISE_MATH_PREC, arithmetic);
    if (axis >= 0) p.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    if (nan) p.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &*nan);
    p.finalize();
    const Descriptor& kept = graph.keep(std::move(p));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kept);
    add_operands(graph, operation, operands);
}

}  // namespace

void add_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, Id x, Id y) {
    add_pointwise_operation(
        graph, mode, CUDNN_DATA_FLOAT,
        {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void add_pointwise(CudnnGraph& graph, cudnnPointwiseMode_t mode, Id x, Id b, Id y) {
    add_pointwise_operation(graph, mode, CUDNN_DATA_FLOAT,
                            {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
                             {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b},
                             {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void add_relu(CudnnGraph& graph, Id x, Id y) {
    add_pointwise_operation(
        graph, CUDNN_POINTWISE_RELU_FWD, CUDNN_DATA_FLOAT,
        {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}}, -1,
        CUDNN_PROPAGATE_NAN);
}

void add_relu_backward(CudnnGraph& graph, Id dy, Id x, Id dx) {
    add_pointwise_operation(graph, CUDNN_POINTWISE_RELU_BWD, CUDNN_DATA_FLOAT,
                            {{CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy},
                             {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
                             {CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, dx}});
}

void add_index(CudnnGraph& graph, Id x, std::int64_t axis, Id y) {
    add_pointwise_operation(
        graph, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32,
        {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x}, {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}}, axis);
}

void add_comparison(CudnnGraph& graph, cudnnPointwiseMode_t mode, Id a, Id b, Id y) {
    add_pointwise_operation(graph, mode, CUDNN_DATA_BOOLEAN,
                            {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a},
                             {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b},
                             {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void add_selection(CudnnGraph& graph, Id condition, Id a, Id b, Id y) {
    add_pointwise_operation(graph, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT,
                            {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a},
                             {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b},
                             {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, condition},
                             {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void add_reduction(CudnnGraph& graph, cudnnReduceTensorOp_t how, Id x, Id y) {
    Descriptor r(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    r.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &how);
    r.set_data_type(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    r.finalize();
    const Descriptor& kept = graph.keep(std::move(r));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kept);
    add_operands(graph, operation,
                 {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}});
}

void add_matmul(CudnnGraph& graph, Id a, Id b, Id c) {
    Descriptor m(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    m.set_data_type(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    m.finalize();
    const Descriptor& kept = graph.keep(std::move(m));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kept);
    add_operands(graph, operation,
                 {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
                  {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
                  {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c}});
}

void add_reshape(CudnnGraph& graph, Id x, Id y) {
    add_operands(graph, graph.operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR),
                 {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y}});
}

void add_statistics(CudnnGraph& graph, Id x, Id sum, Id square_sum) {
    const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode);
    operation.set_data_type(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_DATA_FLOAT);
    add_operands(graph, operation,
                 {{CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x},
                  {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sum},
                  {CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, square_sum}});
}

void add_norm_weights_backward(CudnnGraph& graph, const NormWeightsIds& ids) {
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR);
    operation.set_data_type(CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_DATA_FLOAT);
    add_operands(graph, operation,
                 {{CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, ids.x},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, ids.dy},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, ids.mean},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, ids.rstd},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, ids.gamma},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, ids.grad_gamma},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, ids.grad_beta},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, ids.dy_scale},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, ids.x_scale},
                  {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, ids.shift}});
}

void add_norm_forward(CudnnGraph& graph, const NormForwardIds& ids, double epsilon) {
    const cudnnBackendNormMode_t mode = CUDNN_BATCH_NORM;
    const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
    const Id added = graph.scalar(static_cast<float>(epsilon));
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
    operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase);
    add_operands(graph, operation,
                 {{CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, ids.x},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, ids.gamma},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, ids.beta},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, added},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, ids.y},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, ids.mean},
                  {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, ids.rstd}});
}

void add_norm_backward(CudnnGraph& graph, const NormBackwardIds& ids) {
    const cudnnBackendNormMode_t mode = CUDNN_BATCH_NORM;
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
    add_operands(graph, operation,
                 {{CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, ids.x},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, ids.dy},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, ids.gamma},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, ids.mean},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, ids.rstd},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, ids.dx},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, ids.grad_gamma},
                  {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, ids.grad_beta}});
}

}  // namespace mpt::gpu

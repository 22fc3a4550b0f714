#include "backends/cuda/device/cudnn_pool.h"

#include "backends/cuda/device/cudnn_operations.h"

namespace mpt::gpu {

namespace {

using Id = CudnnGraph::Id;
using Kept = CudnnGraph::Kept;

Descriptor resampling(const PoolSpec& s) {
    Descriptor r(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
    const cudnnResampleMode_t mode =
        s.average ? CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING : CUDNN_RESAMPLE_MAXPOOL;
    const cudnnPaddingMode_t padding = s.average ? CUDNN_ZERO_PAD : CUDNN_NEG_INF_PAD;
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    r.set(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, 1, &mode);
    r.set_data_type(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT);
    r.set(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &nan);
    r.set(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, 1, &padding);
    r.set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, std::int64_t{2});
    r.set(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, std::vector<std::int64_t>{s.window_h, s.window_w});
    r.set(CUDNN_ATTR_RESAMPLE_STRIDES, std::vector<std::int64_t>{s.stride, s.stride});
    r.set(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, std::vector<std::int64_t>{s.pad, s.pad});
    r.set(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, std::vector<std::int64_t>{s.pad, s.pad});
    r.finalize();
    return r;
}

// What the windows see of the stored images.
Id activation_of(CudnnGraph& graph, const PoolSpec& s, PoolIds& ids) {
    const auto wide = [&] { return graph.image(DType::f32, s.n, s.c, s.h, s.w, Kept::kVirtual); };
    if (!s.affine) return ids.from;
    ids.scale = graph.channels(s.c), ids.shift = graph.channels(s.c);
    const Id scaled = wide(), shifted = wide();
    add_pointwise(graph, CUDNN_POINTWISE_MUL, ids.from, ids.scale, scaled);
    add_pointwise(graph, CUDNN_POINTWISE_ADD, scaled, ids.shift, shifted);
    if (!s.relu) return shifted;
    const Id activation = wide();
    add_relu(graph, shifted, activation);
    return activation;
}

}  // namespace

std::string refusal_of(const PoolSpec& s) {
    // cuDNN's places are those of the op: row by row in the window, from 0, the first of equal values
    // ("Resampling Index Tensor Dump for Training" in its developer guide). Ours are u8, a kind that it takes
    // as i8.
    if (!s.average && s.window_h * s.window_w > 128) return "counts places in i8, which ends at 128";
    return {};
}

PoolIds add_pool(CudnnGraph& graph, const PoolSpec& s) {
    PoolIds ids;
    const Id images = graph.image(s.dtype, s.n, s.c, s.h, s.w),
             result = graph.image(s.dtype, s.n, s.c, s.p, s.q);
    ids.from = s.backward ? result : images;
    ids.to = s.backward ? images : result;
    if (!s.average)
        ids.index = graph.tensor(CUDNN_DATA_INT8, {s.n, s.c, s.p, s.q}, {s.p * s.q * s.c, 1, s.q * s.c, s.c});
    const Descriptor& pool = graph.keep(resampling(s));
    if (s.backward) {
        Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
        operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, pool);
        operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, graph[ids.from]);
        operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, graph[ids.to]);
        if (ids.index != 0) operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC, graph[ids.index]);
        return ids;
    }
    const Id activation = activation_of(graph, s, ids);
    Descriptor& operation = graph.operation(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, pool);
    operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, graph[activation]);
    operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, graph[ids.to]);
    if (ids.index != 0) operation.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC, graph[ids.index]);
    return ids;
}

}  // namespace mpt::gpu

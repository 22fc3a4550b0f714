#include "backends/cuda/device/cudnn_norm.h"

#include "backends/cuda/device/cudnn_operations.h"

namespace mpt::gpu {

namespace {

using Id = CudnnGraph::Id;
using Kept = CudnnGraph::Kept;

NormIds add_forward(CudnnGraph& graph, const NormSpec& s) {
    const auto image = [&] { return graph.image(s.dtype, s.n, s.c, s.h, s.w); };
    const auto wide = [&] { return graph.image(DType::f32, s.n, s.c, s.h, s.w, Kept::kVirtual); };
    NormIds ids;
    ids.x = image(), ids.result = image();
    ids.gamma = graph.channels(s.c), ids.beta = graph.channels(s.c);
    ids.mean = graph.channels(s.c), ids.rstd = graph.channels(s.c);
    Id y = s.add || s.relu ? wide() : ids.result;
    add_norm_forward(graph, {ids.x, ids.gamma, ids.beta, y, ids.mean, ids.rstd}, s.epsilon);
    if (s.add) {
        const Id sum = s.relu ? wide() : ids.result;
        ids.addend = image();
        add_pointwise(graph, CUDNN_POINTWISE_ADD, y, ids.addend, sum);
        y = sum;
    }
    if (s.relu) add_relu(graph, y, ids.result);
    return ids;
}

NormIds add_backward(CudnnGraph& graph, const NormSpec& s) {
    const auto image = [&] { return graph.image(s.dtype, s.n, s.c, s.h, s.w); };
    NormIds ids;
    ids.x = image(), ids.grad_y = image(), ids.result = image();
    for (Id* vector : {&ids.gamma, &ids.mean, &ids.rstd, &ids.grad_gamma, &ids.grad_beta})
        *vector = graph.channels(s.c);
    add_norm_backward(
        graph, {ids.x, ids.grad_y, ids.gamma, ids.mean, ids.rstd, ids.result, ids.grad_gamma, ids.grad_beta});
    return ids;
}

}  // namespace

std::string refusal_of(const NormSpec& s) {
    // One value has no variance.
    if (s.n * s.h * s.w < 2) return "takes statistics of two values or more";
    return {};
}

NormIds add_norm(CudnnGraph& graph, const NormSpec& s) {
    return s.backward ? add_backward(graph, s) : add_forward(graph, s);
}

}  // namespace mpt::gpu

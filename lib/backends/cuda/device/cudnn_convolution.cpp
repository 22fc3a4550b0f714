#include "backends/cuda/device/cudnn_convolution.h"

#include <algorithm>
#include <array>

#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/journal.h"
#include "backends/cuda/spec_text.h"

namespace mpt::gpu {

namespace {

constexpr int kMostMeasured = 10;

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

PlanWishes wishes_of(const ConvolutionSpec& spec, const DeviceSettings& settings) {
    PlanWishes wishes;
    wishes.deterministic = settings.deterministic;
    wishes.tensor_cores = spec.dtype != DType::f32 || spec.tf32;
    wishes.workspace_bytes = settings.workspace_bytes;
    wishes.most = settings.measure ? kMostMeasured : 1;
    return wishes;
}

}  // namespace

void add_convolution(CudnnGraph& graph, const ConvolutionSpec& s) {
    const auto x = [&] { return graph.image(s.dtype, s.n, s.c, s.h, s.w); };
    const auto w = [&] { return graph.image(s.dtype, s.k, s.c, s.r, s.s); };
    const auto y = [&] { return graph.image(s.dtype, s.n, s.k, s.p, s.q); };
    CudnnGraph::Id of_x = 0, of_w = 0, of_y = 0;
    // In the order of ConvolutionArgs, which gives the ids.
    if (s.kind == ConvolutionKind::kForward)
        of_x = x(), of_w = w(), of_y = y();
    else if (s.kind == ConvolutionKind::kBackwardData)
        of_y = y(), of_w = w(), of_x = x();
    else
        of_y = y(), of_x = x(), of_w = w();
    const Descriptor& convolution = graph.keep(convolution_descriptor(s));
    const OperationNames names = names_of(s.kind);
    Descriptor& operation = graph.operation(names.type);
    const float one = 1, zero = 0;
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
    operation.set(names.convolution, convolution);
    operation.set(names.x, graph[of_x]);
    operation.set(names.w, graph[of_w]);
    operation.set(names.y, graph[of_y]);
}

Cudnn::Cudnn(int device, cudaStream_t stream) : target_(CudnnTarget::of_device(device)) {
    check_cudnn(cudnn().create(&handle_), "cudnnCreate");
    check_cudnn(cudnn().set_stream(handle_, stream), "cudnnSetStream");
}

Cudnn::~Cudnn() {
    cudnn().destroy(handle_);
}

void Cudnn::run(const CudnnPlan& plan, const ConvolutionArgs& args) const {
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const std::array<std::int64_t, 3> ids = {1, 2, 3};
    const std::array<void*, 3> data = {const_cast<void*>(args.first), const_cast<void*>(args.second),
                                       args.result};
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, data.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &args.workspace);
    pack.finalize();
    check_cudnn(cudnn().execute(handle_, plan.plan->get(), pack.get()), "cudnnBackendExecute");
}

const CudnnPlan& Cudnn::choose(CudaDevice& device, const ConvolutionSpec& s,
                               const std::vector<CudnnPlan>& plans) const {
    if (!device.settings().measure || plans.size() == 1) return plans.front();
    const std::string what = text_of(s);
    if (const auto known = device.journal().find(what))
        for (const CudnnPlan& plan : plans)
            if (std::to_string(plan.config) == *known) return plan;
    const std::size_t bytes = size_of(s.dtype);
    const auto elements = [&](std::int64_t count) { return static_cast<std::size_t>(count) * bytes; };
    const std::size_t x = elements(s.n * s.h * s.w * s.c), w = elements(s.k * s.r * s.s * s.c);
    const std::size_t y = elements(s.n * s.p * s.q * s.k);
    const std::size_t most = std::max({x, w, y});
    std::int64_t workspace_bytes = 0;
    for (const CudnnPlan& plan : plans) workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
    const Memory first(device, most), second(device, most), result(device, most);
    const Memory workspace(device, static_cast<std::size_t>(workspace_bytes));
    device.fill_zero(first.data(), most);
    device.fill_zero(second.data(), most);
    const ConvolutionArgs args{first.data(), second.data(), result.data(), workspace.data()};
    const CudnnPlan* best = &plans.front();
    double best_ms = 1e30;
    for (const CudnnPlan& plan : plans) {
        const double ms = device.time([&] { run(plan, args); }, 5);
        if (ms < best_ms) best_ms = ms, best = &plan;
    }
    device.journal().add(what, std::to_string(best->config));
    return *best;
}

Planned<ConvolutionArgs> Cudnn::plan(CudaDevice& device, const ConvolutionSpec& spec) {
    Planned<ConvolutionArgs> planned;
    auto graph = std::make_shared<CudnnGraph>();
    add_convolution(*graph, spec);
    const std::vector<CudnnPlan> plans =
        graph->plans(target_, wishes_of(spec, device.settings()), &planned.refusal);
    if (plans.empty()) return planned;
    const CudnnPlan plan = choose(device, spec, plans);
    planned.workspace_bytes = static_cast<std::size_t>(plan.workspace_bytes);
    planned.description = plan.description();
    planned.run = [this, graph, plan](const ConvolutionArgs& args) { run(plan, args); };
    return planned;
}

}  // namespace mpt::gpu

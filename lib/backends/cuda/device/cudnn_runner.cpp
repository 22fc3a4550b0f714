#include "backends/cuda/device/cudnn_runner.h"

#include <algorithm>

#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/failures.h"
#include "backends/cuda/journal.h"

namespace mpt::gpu {

namespace {

constexpr int kMostMeasured = 10;

}  // namespace

CudnnRunner::CudnnRunner(int device, cudaStream_t stream) : target_(CudnnTarget::of_device(device)) {
    check_cudnn(cudnn().create(&handle_), "cudnnCreate");
    check_cudnn(cudnn().set_stream(handle_, stream), "cudnnSetStream");
}

CudnnRunner::~CudnnRunner() {
    cudnn().destroy(handle_);
}

void CudnnRunner::run(const CudnnGraph& graph, const CudnnPlan& plan, const Bindings& bindings,
                      void* workspace) const {
    std::vector<std::int64_t> ids;
    std::vector<void*> data;
    for (const auto& [id, memory] : bindings)
        if (id != 0) ids.push_back(id), data.push_back(memory);
    // Scalars are read from the host's memory.
    for (const auto& [id, value] : graph.scalars())
        ids.push_back(id), data.push_back(const_cast<float*>(&value));
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    const auto count = static_cast<std::int64_t>(ids.size());
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, data.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    pack.finalize();
    check_cudnn(cudnn().execute(handle_, plan.plan->get(), pack.get()), "cudnnBackendExecute");
}

std::vector<CudnnPlan> CudnnRunner::plans(CudaDevice& device, CudnnGraph& graph, const std::string& what,
                                          bool tensor_cores, std::string* refusal) const {
    const DeviceSettings& settings = device.settings();
    PlanWishes wishes;
    wishes.deterministic = settings.deterministic;
    wishes.workspace_bytes = settings.workspace_bytes;
    wishes.tensor_cores = tensor_cores;
    // Only what was chosen before is planned: others may take seconds to compile.
    if (settings.autotune != Autotune::kOff)
        if (const auto known = device.journal().find(what)) {
            wishes.only = *known;
            std::vector<CudnnPlan> found = graph.plans(target_, wishes, refusal);
            if (!found.empty()) return found;
            wishes.only.clear();
        }
    refusal->clear();
    wishes.most = settings.autotune == Autotune::kMeasure ? kMostMeasured : 1;
    return graph.plans(target_, wishes, refusal);
}

std::optional<CudnnPlan> CudnnRunner::choose(CudaDevice& device, const CudnnGraph& graph,
                                             const std::string& what, const std::vector<CudnnPlan>& plans,
                                             const std::vector<Measured>& tensors,
                                             std::string* refusal) const {
    std::vector<std::string> keys;
    std::int64_t workspace_bytes = 0;
    for (const CudnnPlan& plan : plans) {
        keys.push_back(plan.key());
        workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
    }
    // Made when the first plan is timed.
    std::optional<Memory> workspace;
    std::vector<Memory> memories;
    Bindings bindings;
    const auto ms = [&](std::size_t index) {
        if (!workspace) {
            workspace.emplace(device, static_cast<std::size_t>(workspace_bytes));
            for (const Measured& tensor : tensors) {
                memories.emplace_back(device, tensor.bytes);
                fill_scratch(device, memories.back().data(), tensor.bytes, tensor.values);
                bindings.emplace_back(tensor.id, memories.back().data());
            }
        }
        return device.time([&] { run(graph, plans[index], bindings, workspace->data()); }, 5);
    };
    try {
        return plans[choose_candidate(device.journal(), device.settings().autotune, what, keys, ms)];
    } catch (const CallFailed& error) {
        *refusal = error.what();
        return std::nullopt;
    }
}

}  // namespace mpt::gpu

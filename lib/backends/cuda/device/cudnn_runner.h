// cuDNN on one device: plans for graphs, the one that is taken, and running it.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/device.h"
#include "backends/cuda/device/cudnn_graph.h"
#include "backends/cuda/scratch_values.h"

namespace mpt::gpu {

class CudaDevice;

// Memory of the tensors of a graph.
using Bindings = std::vector<std::pair<CudnnGraph::Id, void*>>;

class CudnnRunner {
  public:
    CudnnRunner(int device, cudaStream_t stream);
    ~CudnnRunner();
    CudnnRunner(const CudnnRunner&) = delete;
    CudnnRunner& operator=(const CudnnRunner&) = delete;

    const CudnnTarget& target() const { return target_; }
    void run(const CudnnGraph& graph, const CudnnPlan& plan, const Bindings& bindings, void* workspace) const;
    // Plans of a graph that the journal knows as `what`: the one that it holds, or those to choose from, as
    // the settings say. None: why in `refusal`.
    std::vector<CudnnPlan> plans(CudaDevice& device, CudnnGraph& graph, const std::string& what,
                                 bool tensor_cores, std::string* refusal) const;
    // One of the plans; they are timed on scratch memory of `bytes` for each tensor, filled with `values`.
    struct Measured {
        CudnnGraph::Id id;
        std::size_t bytes;
        ScratchValues values;
    };
    // None where none of those timed runs: why in `refusal`.
    std::optional<CudnnPlan> choose(CudaDevice& device, const CudnnGraph& graph, const std::string& what,
                                    const std::vector<CudnnPlan>& plans, const std::vector<Measured>& tensors,
                                    std::string* refusal) const;

  private:
    cudnnHandle_t handle_ = nullptr;
    CudnnTarget target_;
};

Planned<ConvolutionArgs> plan_convolution(CudnnRunner& runner, CudaDevice& device,
                                          const ConvolutionSpec& spec);
Planned<AttentionArgs> plan_attention(CudnnRunner& runner, CudaDevice& device, const AttentionSpec& spec);
Planned<PoolArgs> plan_pool(CudnnRunner& runner, CudaDevice& device, const PoolSpec& spec,
                            const OwnKernel<PoolArgs>& own);
Planned<NormArgs> plan_norm(CudnnRunner& runner, CudaDevice& device, const NormSpec& spec,
                            const OwnKernel<NormArgs>& own);

}  // namespace mpt::gpu

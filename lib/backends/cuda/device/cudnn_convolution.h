// Convolutions as graphs of cuDNN, and the plans a device runs.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device.h"
#include "backends/cuda/device/cudnn_graph.h"

namespace mpt::gpu {

class CudaDevice;

// The operation graph of one convolution; tensors have the ids 1 (first), 2 (second) and 3 (result) of
// ConvolutionArgs.
void add_convolution(CudnnGraph& graph, const ConvolutionSpec& spec);

class Cudnn {
  public:
    Cudnn(int device, cudaStream_t stream);
    ~Cudnn();
    Cudnn(const Cudnn&) = delete;
    Cudnn& operator=(const Cudnn&) = delete;

    Planned<ConvolutionArgs> plan(CudaDevice& device, const ConvolutionSpec& spec);

  private:
    void run(const CudnnPlan& plan, const ConvolutionArgs& args) const;
    const CudnnPlan& choose(CudaDevice& device, const ConvolutionSpec& spec,
                            const std::vector<CudnnPlan>& plans) const;

    cudnnHandle_t handle_ = nullptr;
    CudnnTarget target_;
};

}  // namespace mpt::gpu

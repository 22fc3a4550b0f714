// Asks cuDNN, where this build has it, for engines and workspaces of a graph's convolutions on a GPU that
// need not be there.
#pragma once

#include "study/study.h"

namespace mpt {

// `narrow`: what 16-bit values are; the graph of one 16-bit type serves for both.
CudnnStudy cudnn_study(const Graph& graph, const Gpu& gpu, Tf32 tf32, DType narrow);

}  // namespace mpt

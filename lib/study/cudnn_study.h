// Asks cuDNN, where this build has it, for engines and workspaces of a graph's convolutions on a GPU that
// need not be there.
#pragma once

#include "study/study.h"

namespace mpt {

struct CudnnQuestion {
    Tf32 tf32 = Tf32::kOff;
    DType narrow = DType::f16;  // what 16-bit values are; the graph of one 16-bit type serves for both
    int num_threads = 1;        // that ask at once
};
CudnnStudy cudnn_study(const Graph& graph, const Gpu& gpu, const CudnnQuestion& question);

}  // namespace mpt

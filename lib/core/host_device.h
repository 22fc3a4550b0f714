// Marks functions that CUDA kernels call, too; empty for any other compiler.
#pragma once

#ifdef __CUDACC__
#define MPT_HOST_DEVICE __host__ __device__
#else
#define MPT_HOST_DEVICE
#endif

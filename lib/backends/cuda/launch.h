// Kernels are written once, in .cu files, with what stands here instead of CUDA's own words; nvcc makes
// device code of them, g++ (with MPT_HOST_TWIN) fibers of the host twin. Rules: blocks are one-dimensional;
// shared memory is MPT_SHARED; no atomics, so that every sum has one order; a kernel whose threads never meet
// (no barrier, shuffle or shared memory) may say so, which the twin runs faster.
#pragma once

#include <cstdint>
#include <source_location>
#include <type_traits>

#include "backends/cuda/device.h"

#ifdef MPT_HOST_TWIN
#include "backends/cuda/host_twin/queue.h"
#define MPT_GPU_BUILD host_twin
#define MPT_KERNEL(max_threads)
#define MPT_DEVICE inline
#define MPT_UNROLL
#define MPT_REGISTER_CUDA(folder) void register_##folder##_cuda_host
#define MPT_SHARED(T, name, count)         \
    static const char name##_key = 0;      \
    const ::mpt::gpu::SharedArray<T> name( \
        ::mpt::gpu::emulator::shared_buffer(&name##_key, static_cast<std::size_t>(count), sizeof(T), false))
#define MPT_DYNAMIC_SHARED(T, name, count) \
    const ::mpt::gpu::SharedArray<T> name( \
        ::mpt::gpu::emulator::shared_buffer(nullptr, static_cast<std::size_t>(count), sizeof(T), true))
#else
#include <cuda_runtime.h>
#define MPT_GPU_BUILD cuda
#define MPT_KERNEL(max_threads) __global__ __launch_bounds__(max_threads)
#define MPT_DEVICE __device__ __forceinline__
#define MPT_UNROLL _Pragma("unroll")
#define MPT_REGISTER_CUDA(folder) void register_##folder##_cuda
#define MPT_SHARED(T, name, count)          \
    __shared__ T name##_memory[count];      \
    const ::mpt::gpu::SharedArray<T> name { \
        name##_memory                       \
    }
#define MPT_DYNAMIC_SHARED(T, name, count)                                 \
    extern __shared__ __align__(16) unsigned char dynamic_shared_memory[]; \
    const ::mpt::gpu::SharedArray<T> name {                                \
        reinterpret_cast<T*>(dynamic_shared_memory)                        \
    }
#endif

namespace mpt::gpu {

#ifndef MPT_HOST_TWIN
// In cuda_device.cpp. check_launch throws when the launch before it was refused.
void check_launch(const void* kernel);
void allow_shared_bytes(const void* kernel, std::size_t bytes);
#endif

inline namespace MPT_GPU_BUILD {

struct Launch {
    std::int64_t blocks = 1;
    int threads = 256;
    std::int64_t blocks_y = 1;
    std::size_t shared_bytes = 0;
    bool threads_meet = true;
};

#ifdef MPT_HOST_TWIN

template <typename T>
using SharedArray = emulator::SharedArray<T>;

inline int thread_index() {
    return static_cast<int>(emulator::here.thread);
}
inline int num_threads() {
    return static_cast<int>(emulator::here.threads);
}
inline std::int64_t block_index() {
    return emulator::here.block_x;
}
inline std::int64_t block_index_y() {
    return emulator::here.block_y;
}
inline std::int64_t num_blocks() {
    return emulator::here.blocks_x;
}
inline void sync_block(std::source_location where = std::source_location::current()) {
    emulator::sync_block(where);
}
inline void sync_warp(std::source_location where = std::source_location::current()) {
    emulator::sync_warp(where);
}
template <typename T>
T shuffle_xor(T value, int mask, std::source_location where = std::source_location::current()) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = emulator::exchange(bits, (emulator::here.thread % emulator::kWarp) ^ static_cast<unsigned>(mask),
                              where);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename... P>
void launch(Device& device, const Launch& shape, void (*kernel)(P...), std::type_identity_t<P>... arguments) {
    check_limits(device, shape.blocks, shape.blocks_y, shape.threads, shape.shared_bytes);
    emulator::Queue& queue = *static_cast<emulator::Queue*>(device.stream());
    const emulator::Grid grid = {static_cast<unsigned>(shape.blocks),
                                 static_cast<unsigned>(shape.blocks_y),
                                 static_cast<unsigned>(shape.threads),
                                 shape.shared_bytes,
                                 static_cast<std::size_t>(device.info().shared_bytes_per_block),
                                 shape.threads_meet,
                                 queue.last_first};
    queue.submit([=] { emulator::run_grid(grid, [=] { kernel(arguments...); }); });
}

#else

template <typename T>
struct SharedArray {
    T* memory;
    MPT_DEVICE T get(std::int64_t index) const { return memory[index]; }
    MPT_DEVICE void put(std::int64_t index, T value) const { memory[index] = value; }
};

MPT_DEVICE int thread_index() {
    return static_cast<int>(threadIdx.x);
}
MPT_DEVICE int num_threads() {
    return static_cast<int>(blockDim.x);
}
MPT_DEVICE std::int64_t block_index() {
    return blockIdx.x;
}
MPT_DEVICE std::int64_t block_index_y() {
    return blockIdx.y;
}
MPT_DEVICE std::int64_t num_blocks() {
    return gridDim.x;
}
MPT_DEVICE void sync_block() {
    __syncthreads();
}
MPT_DEVICE void sync_warp() {
    __syncwarp();
}
template <typename T>
MPT_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

template <typename... P>
void launch(Device& device, const Launch& shape, void (*kernel)(P...), std::type_identity_t<P>... arguments) {
    check_limits(device, shape.blocks, shape.blocks_y, shape.threads, shape.shared_bytes);
    // Beyond 48 KiB, the kernel's own static memory included, which is a few KiB at most, it has to be asked
    // for.
    if (shape.shared_bytes > 32 * 1024)
        allow_shared_bytes(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
    const dim3 grid(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.blocks_y));
    kernel<<<grid, dim3(static_cast<unsigned>(shape.threads)), shape.shared_bytes,
             static_cast<cudaStream_t>(device.stream())>>>(arguments...);
    check_launch(reinterpret_cast<const void*>(kernel));
}

#endif

}  // namespace MPT_GPU_BUILD
}  // namespace mpt::gpu

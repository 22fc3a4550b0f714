// Runs a prepared kernel whose arguments lie in guarded host memory on a device: straight away where the
// host's memory is the device's (CPU, host twin), otherwise on copies, guards included, that are copied back.
#pragma once

#include <vector>

#include "backends/cuda/device.h"
#include "graph/kernel.h"
#include "support/guarded_buffer.h"

namespace mpt::test {

inline void run_on(gpu::Device* device, const PreparedKernel& kernel, const KernelArgs& args,
                   const std::vector<GuardedBuffer*>& buffers) {
    if (device == nullptr || device->info().host_memory) {
        kernel.run(args);
        if (device != nullptr) device->synchronize();
        return;
    }
    std::vector<gpu::Memory> copies;
    for (GuardedBuffer* buffer : buffers) {
        const std::span<std::uint8_t> all = buffer->with_guards();
        copies.emplace_back(*device, all.size());
        device->copy(copies.back().data(), all.data(), all.size());
    }
    const auto on_device = [&](void* host) -> void* {
        if (host == nullptr) return nullptr;
        for (std::size_t i = 0; i < buffers.size(); ++i)
            if (buffers[i]->data() == host)
                return copies[i].data() +
                       (static_cast<std::uint8_t*>(host) - buffers[i]->with_guards().data());
        MPT_CHECK(false, "an argument in no buffer");
        return nullptr;
    };
    std::vector<void*> inputs, outputs;
    for (void* host : args.inputs) inputs.push_back(on_device(host));
    for (void* host : args.outputs) outputs.push_back(on_device(host));
    kernel.run({inputs, outputs, on_device(args.workspace)});
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const std::span<std::uint8_t> all = buffers[i]->with_guards();
        device->copy(all.data(), copies[i].data(), all.size());
    }
    device->synchronize();
}

}  // namespace mpt::test

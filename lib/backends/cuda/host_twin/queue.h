// The twin's stream: work runs at once, or is recorded while capturing.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "backends/cuda/host_twin/emulator.h"

namespace mpt::gpu::emulator {

struct Queue {
    bool last_first = false;  // order of blocks and threads
    bool recording = false;
    std::vector<std::function<void()>> recorded;

    void submit(std::function<void()> work) {
        if (recording)
            recorded.push_back(std::move(work));
        else
            work();
    }
};

}  // namespace mpt::gpu::emulator

// The twin's streams. Work runs at once, or, as a GPU's does, some time later: when the host waits for it, in
// an order that takes one stream as far ahead of the other as events allow. While capturing it is recorded.
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "backends/cuda/host_twin/emulator.h"
#include "core/error.h"

namespace mpt::gpu::emulator {

struct Queue {
    bool last_first = false;  // order of blocks and threads
    bool deferred = false;
    bool recording = false;
    bool closed = false;  // the other stream is captured
    std::vector<std::function<void()>> recorded;

    struct Item {
        std::function<void()> work;   // or empty
        std::function<bool()> ready;  // empty: at any time
    };
    std::deque<Item> waiting;

    void submit(std::function<void()> work) {
        MPT_CHECK(!closed, "work for the second stream inside a capture of the first");
        if (recording)
            recorded.push_back(std::move(work));
        else if (deferred)
            waiting.push_back({std::move(work), {}});
        else
            work();
    }
    // What comes later waits until `ready`.
    void hold_until(std::function<bool()> ready) {
        if (deferred) waiting.push_back({{}, std::move(ready)});
    }
    // Runs the next item if it may; returns whether it did.
    bool step() {
        if (waiting.empty() || (waiting.front().ready && !waiting.front().ready())) return false;
        const Item item = std::move(waiting.front());
        waiting.pop_front();
        if (item.work) item.work();
        return true;
    }
};

}  // namespace mpt::gpu::emulator

// What a run needs, in bytes, known before anything is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpt {

struct MemoryReport {
    std::int64_t weights_bytes = 0;      // masters
    std::int64_t narrow_bytes = 0;       // narrow copies of the weights
    std::int64_t gradients_bytes = 0;    // f32 accumulation buffers
    std::int64_t optimizer_bytes = 0;    // moments and EMA
    std::int64_t statistics_bytes = 0;   // running statistics and the control block
    std::int64_t activations_bytes = 0;  // peak of simultaneously live intermediates of the micro-step
    std::int64_t workspace_bytes = 0;    // largest kernel workspace
    std::int64_t arena_bytes = 0;        // regions + step arena: what is allocated, and the printed peak
    std::int64_t host_bytes = 0;         // the data set and its prefetch buffers
    // The largest tensors alive at the peak of the micro-step, largest first.
    struct Live {
        std::string name;
        std::string type;
        std::int64_t bytes = 0;
    };
    std::vector<Live> at_peak = {};
};

// Several lines, each with a trailing newline.
std::string print(const MemoryReport& report);

}  // namespace mpt

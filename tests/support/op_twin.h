// The generic op test on the host twin, in parts that run beside each other.
#pragma once

#include "backends/cuda/host_twin/host_twin.h"
#include "support/op_cases.h"

namespace mpt::test {

// Ops of pictures: convolutions and what stands around them.
inline bool is_picture_op(std::string_view op) {
    for (const std::string_view word : {"conv2d", "batch_norm", "channel", "pool", "running", "image"})
        if (op.find(word) != std::string_view::npos) return true;
    return false;
}

inline bool is_attention_op(std::string_view op) {
    return op.find("attention") != std::string_view::npos;
}

inline void check_on_twin(const std::function<bool(std::string_view op)>& wanted) {
    gpu::HostTwin first_first, last_first(true);
    check_backend({"cuda-host", cuda_host_kernels(), {&first_first, &last_first}, {1}}, wanted);
}

}  // namespace mpt::test

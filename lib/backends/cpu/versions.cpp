#include "backends/cpu/versions.h"

namespace mpt::cpu {

std::string instruction_sets() {
    std::string sets;
    const auto add = [&](bool has, const char* name) {
        if (has) sets += (sets.empty() ? "" : " ") + std::string(name);
    };
    add(__builtin_cpu_supports("avx2") != 0, "avx2");
    add(__builtin_cpu_supports("fma") != 0, "fma");
    add(__builtin_cpu_supports("f16c") != 0, "f16c");
    add(__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
            __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0,
        "avx512");
    return sets.empty() ? "none" : sets;
}

}  // namespace mpt::cpu

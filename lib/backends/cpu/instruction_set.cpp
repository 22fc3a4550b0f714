#include "backends/cpu/instruction_set.h"

namespace mpt::cpu {
namespace {

InstructionSet detect() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
        return InstructionSet::kBaseline;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return InstructionSet::kAvx512;
    return InstructionSet::kAvx2;
}

}  // namespace

InstructionSet instruction_set() {
    static const InstructionSet detected = detect();
    return detected;
}

bool has_bf16_products() {
    static const bool has =
        instruction_set() == InstructionSet::kAvx512 && __builtin_cpu_supports("avx512bf16") != 0;
    return has;
}

}  // namespace mpt::cpu

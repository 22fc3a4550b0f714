// What the processor can do, asked once. Files named *_avx2.cpp and *_avx512.cpp are entered only after this
// check.
#pragma once

#include <cstdint>

namespace mpt::cpu {

enum class InstructionSet : std::uint8_t {
    kBaseline,
    kAvx2,    // AVX2, FMA and F16C
    kAvx512,  // and AVX-512 F, BW, DQ, VL
};

InstructionSet instruction_set();

}  // namespace mpt::cpu

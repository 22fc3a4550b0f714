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

// Products of pairs of bf16 with sums in f32 (AVX512_BF16), beside kAvx512.
bool has_bf16_products();

}  // namespace mpt::cpu

// The loops behind run_f32_products() and run_bf16_products(), a file for each instruction set; to be entered
// only where the processor has it.
#pragma once

namespace mpt {

inline constexpr int kFmaChains = 10;  // enough to hide the latency of two units
inline constexpr int kFmaRounds = 20000;

double f32_products_avx2();
double f32_products_avx512();
double bf16_products_avx512();

}  // namespace mpt

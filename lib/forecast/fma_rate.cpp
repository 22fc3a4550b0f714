#include "forecast/fma_rate.h"

#include "forecast/cpu.h"

namespace mpt {

double run_f32_products() {
    if (__builtin_cpu_supports("avx512f")) return f32_products_avx512();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? f32_products_avx2() : 0;
}

double run_bf16_products() {
    return __builtin_cpu_supports("avx512bf16") ? bf16_products_avx512() : 0;
}

}  // namespace mpt

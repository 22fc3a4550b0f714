#include <cstring>

#include "ops/reshape/reshape.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

void run_reshape(const Signature& s, const KernelArgs& a) {
    const char* x = simd::input<char>(a, 0);
    char* y = simd::output<char>(a, 0);
    if (x == y) return;
    cpu::parallel_for(s.in(0).bytes(), 8 * simd::kGrain, s.num_threads, [=](cpu::Range range, int) {
        std::memcpy(y + range.begin, x + range.begin, static_cast<std::size_t>(range.end - range.begin));
    });
}

}  // namespace

void register_reshape_cpu(KernelTable& table) {
    table.add(simd::kernel<run_reshape>(reshape_op));
}

}  // namespace mpt

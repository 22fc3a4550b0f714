#include "ops/ema_update/ema_update.h"
#include "ops/flat_walk.h"

namespace mpt {

namespace {

void update(float* __restrict ema, const float* __restrict master, float keep, float take, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) ema[i] = keep * ema[i] + take * master[i];
}

void run(const Signature& s, const KernelArgs& a) {
    StepControl control;
    std::memcpy(&control, a.in<void>(2), sizeof control);
    auto* ema = a.out<float>(0);  // in place
    const double d =
        control.skip != 0 ? 1 : ema_decay(s.attributes.as<EmaUpdateAttributes>().decay, control.applied);
    const auto keep = static_cast<float>(d), take = static_cast<float>(1 - d);
    const DType dtype = s.in(1).dtype;
    cpu::parallel_for(
        s.in(0).shape.num_elements(), flat_walk::kBlock, s.num_threads, [&](cpu::Range range, int) {
            if (dtype == DType::f32) {
                update(ema + range.begin, a.in<float>(1) + range.begin, keep, take, range.end - range.begin);
                return;
            }
            float wide[flat_walk::kBlock];
            for (std::int64_t at = range.begin; at < range.end; at += flat_walk::kBlock) {
                const std::int64_t n = std::min(flat_walk::kBlock, range.end - at);
                flat_walk::widen(a.in<void>(1), dtype, at, n, wide);
                update(ema + at, wide, keep, take, n);
            }
        });
}

PreparedKernel prepare(const Signature& s) {
    return {[s](const KernelArgs& a) { run(s, a); }, 0, "avx2"};
}

}  // namespace

void register_ema_update_cpu(KernelTable& table) {
    table.add({ema_update_op.name, "simd", flat_walk::refusal, prepare});
}

}  // namespace mpt

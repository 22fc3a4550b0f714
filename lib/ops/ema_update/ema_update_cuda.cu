#include "ops/cuda_kernel.h"
#include "ops/ema_update/ema_update.h"
#include "optim/step_control.h"

namespace mpt {

namespace {

struct Average {
    double decay;
    const StepControl* control;
    MPT_DEVICE float operator()(std::int64_t, float ema, float master) const {
        if (control->skip != 0) return ema;
        const double t = static_cast<double>(control->applied);
        const double young = (1 + t) / (10 + t);
        const float d = static_cast<float>(young < decay ? young : decay);
        // The remainder in f64: 1 - d loses digits in f32.
        const float rest = static_cast<float>(1 - (young < decay ? young : decay));
        return d * ema + rest * master;
    }
};

void run_ema_update(const gpu::Call& s, const KernelArgs& a) {
    const Average f{s.attributes.as<EmaUpdateAttributes>().decay, a.in<StepControl>(2)};
    gpu::with_storage(s.in(1).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), f, a.out<float>(0), a.in<float>(0), a.in<T>(1));
    });
}

}  // namespace

MPT_REGISTER_CUDA(ema_update)(KernelTable& table) {
    table.add(gpu::kernel<run_ema_update>(ema_update_op));
}

}  // namespace mpt

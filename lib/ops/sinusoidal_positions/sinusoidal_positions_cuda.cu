#include "ops/cuda_kernel.h"
#include "ops/sinusoidal_positions/sinusoidal_positions.h"

namespace mpt {

namespace {

struct AddSinusoids {
    const double* frequencies;  // [width / 2]
    const std::int32_t* first;  // of each sequence, or null
    std::int64_t length, width;
    float scale;
    MPT_DEVICE float operator()(std::int64_t i, float x) const {
        const std::int64_t row = i / width, channel = i % width;
        const std::int64_t start = first == nullptr ? 0 : first[row / length];
        // Brought into one turn in f64: f32 has no digits left for the angle of a late position.
        constexpr double kTurn = 6.283185307179586;
        const double angle = static_cast<double>(start + row % length) * frequencies[channel / 2];
        const float rest = static_cast<float>(angle - kTurn * std::rint(angle / kTurn));
        return scale * x + (channel % 2 == 0 ? std::sin(rest) : std::cos(rest));
    }
};

struct Scale {
    float scale;
    MPT_DEVICE float operator()(std::int64_t, float grad_y) const { return scale * grad_y; }
};

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& attributes = s.attributes.as<SinusoidalPositionsAttributes>();
    const std::int64_t length = s.in(0).shape[1], width = s.in(0).shape[2];
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < width / 2; ++i)
        frequencies.push_back(sinusoid_frequency(attributes, i, width));
    const std::shared_ptr<gpu::Memory> table = gpu::upload(*s.device, frequencies);
    return {[=](const KernelArgs& a) {
                const AddSinusoids f{reinterpret_cast<const double*>(table->data()),
                                     s.has(1) ? a.in<std::int32_t>(1) : nullptr, length, width,
                                     static_cast<float>(attributes.scale)};
                gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
                    gpu::map(*s.device, gpu::elements_of(s), f, a.out<T>(0), a.in<T>(0));
                });
            },
            0, "cuda"};
}

void run_backward(const gpu::Call& s, const KernelArgs& a) {
    const Scale f{static_cast<float>(s.attributes.as<SinusoidalPositionsAttributes>().scale)};
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), f, a.out<T>(0), a.in<T>(0));
    });
}

}  // namespace

MPT_REGISTER_CUDA(sinusoidal_positions)(KernelTable& table) {
    table.add({sinusoidal_positions_op.name, "cuda", gpu::refusal, prepare});
    table.add(gpu::kernel<run_backward>(sinusoidal_positions_backward_op));
}

}  // namespace mpt

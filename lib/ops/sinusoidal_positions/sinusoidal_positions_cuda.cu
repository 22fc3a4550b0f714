#include "ops/cuda_kernel.h"
#include "ops/sinusoidal_positions/sinusoidal_positions.h"

namespace mpt {

namespace {

constexpr int kThreads = 256;
constexpr double kTurn = 6.283185307179586;

struct Sinusoids {
    const double* turns;        // [width / 2] of a step to the next position
    const std::int32_t* first;  // of each sequence, or null
    std::int64_t elements, length, width;
    float scale;
    // The sine and the cosine of pair `pair` of row `row`.
    MPT_DEVICE gpu::Turn at(std::int64_t row, std::int64_t pair) const {
        const std::int64_t start = first == nullptr ? 0 : first[row / length];
        // Brought into one turn in f64: f32 has no digits left for the angle of a late position.
        const double turn = static_cast<double>(start + row % length) * turns[pair];
        return gpu::turned_by(static_cast<float>(turn - std::rint(turn)));
    }
};

// Packs are even, or 1.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void sinusoids_kernel(Sinusoids s, const T* x, T* y) {
    for (std::int64_t i = (gpu::block_index() * kThreads + gpu::thread_index()) * pack; i < s.elements;
         i += gpu::num_blocks() * kThreads * pack) {
        const std::int64_t row = i / s.width, channel = i % s.width;
        float v[pack];
        gpu::load<pack>(x + i, v);
        MPT_UNROLL
        for (int k = 0; k < pack; k += 2) {
            const gpu::Turn turn = s.at(row, (channel + k) / 2);
            if constexpr (pack == 1) {
                v[0] = s.scale * v[0] + (channel % 2 == 0 ? turn.sine : turn.cosine);
            } else {
                v[k] = s.scale * v[k] + turn.sine;
                v[k + 1] = s.scale * v[k + 1] + turn.cosine;
            }
        }
        gpu::store<pack>(y + i, v);
    }
}

struct Scale {
    float scale;
    MPT_DEVICE float operator()(std::int64_t, float grad_y) const { return scale * grad_y; }
};

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& attributes = s.attributes.as<SinusoidalPositionsAttributes>();
    const std::int64_t length = s.in(0).shape[1], width = s.in(0).shape[2];
    std::vector<double> turns;
    for (std::int64_t i = 0; i < width / 2; ++i)
        turns.push_back(sinusoid_frequency(attributes, i, width) / kTurn);
    const std::shared_ptr<gpu::Memory> table = gpu::upload(*s.device, turns);
    return {[=](const KernelArgs& a) {
                const Sinusoids f{reinterpret_cast<const double*>(table->data()),
                                  s.has(1) ? a.in<std::int32_t>(1) : nullptr,
                                  gpu::elements_of(s),
                                  length,
                                  width,
                                  static_cast<float>(attributes.scale)};
                gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
                    gpu::with_pack<gpu::kPerPack<T>>(width, [&]<int pack>(std::integral_constant<int, pack>) {
                        gpu::launch(*s.device,
                                    {.blocks = gpu::blocks_for(*s.device, f.elements / pack, kThreads),
                                     .threads = kThreads,
                                     .threads_meet = false},
                                    sinusoids_kernel<pack, T>, f, a.in<T>(0), a.out<T>(0));
                    });
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

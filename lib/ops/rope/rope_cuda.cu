#include "ops/cuda_kernel.h"
#include "ops/rope/rope.h"

namespace mpt {

namespace {

struct Rotation {
    std::int64_t rows, heads, turned, half;  // heads of all parts of a row; the first `turned` of them turn
    std::int64_t pairs;
    bool offset_a_sequence;
    const double* frequencies;  // [half], negative for the inverse
};

template <typename T>
MPT_KERNEL(256)
void rope_kernel(Rotation r, const std::int32_t* offset, const T* x, T* y) {
    for (std::int64_t p = gpu::block_index() * 256 + gpu::thread_index(); p < r.pairs;
         p += gpu::num_blocks() * 256) {
        const std::int64_t head = p / r.half, i = p % r.half, at = head * 2 * r.half + i;
        const float first = gpu::widen(x[at]), second = gpu::widen(x[at + r.half]);
        float cosine = 1, sine = 0;
        if (head % r.heads < r.turned) {
            // Brought into one turn in f64: f32 has no digits left for the angle of a late position.
            const std::int64_t sequence = r.offset_a_sequence ? head / (r.heads * r.rows) : 0;
            const std::int64_t start = offset == nullptr ? 0 : offset[sequence];
            constexpr double kTurn = 6.283185307179586;
            const double angle = static_cast<double>(start + head / r.heads % r.rows) * r.frequencies[i];
            const float rest = static_cast<float>(angle - kTurn * std::rint(angle / kTurn));
            cosine = std::cos(rest);
            sine = std::sin(rest);
        }
        y[at] = gpu::narrow<T>(first * cosine - second * sine);
        y[at + r.half] = gpu::narrow<T>(first * sine + second * cosine);
    }
}

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& attributes = s.attributes.as<RopeAttributes>();
    const Shape x = s.in(0).shape;
    std::vector<double> frequencies;
    for (std::int64_t i = 0; i < x[-1] / 2; ++i) frequencies.push_back(rope_angle(attributes, 1, i, x[-1]));
    const std::shared_ptr<gpu::Memory> table = gpu::upload(*s.device, frequencies);
    Rotation r{};
    r.rows = x[1];
    r.half = x[-1] / 2;
    r.heads = x.num_elements() / (x[0] * x[1] * x[-1]);
    r.turned = attributes.parts * x[-2];
    r.pairs = x.num_elements() / 2;
    r.offset_a_sequence = s.has(1) && s.in(1).shape.rank() == 1;
    r.frequencies = reinterpret_cast<const double*>(table->data());
    return {[s, r, table](const KernelArgs& a) {
                gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
                    gpu::launch(*s.device,
                                {.blocks = gpu::blocks_for(*s.device, r.pairs, 256), .threads_meet = false},
                                rope_kernel<T>, r, s.has(1) ? a.in<std::int32_t>(1) : nullptr, a.in<T>(0),
                                a.out<T>(0));
                });
            },
            0, "cuda"};
}

}  // namespace

MPT_REGISTER_CUDA(rope)(KernelTable& table) {
    table.add({rope_op.name, "cuda", gpu::refusal, prepare});
}

}  // namespace mpt

#include "ops/cuda_kernel.h"
#include "ops/rope/rope.h"

namespace mpt {

namespace {

constexpr int kThreads = 256;

struct Rotation {
    std::int64_t rows, positions;  // of a sequence, of all sequences
    std::int64_t heads, turned;    // of all parts of a row; the first `turned` of them turn
    std::int64_t walked;           // heads that are read and written: all, or in place those that turn
    std::int64_t half, packs;      // pairs of a head, and packs of them
    std::int64_t side_by_side;     // heads of a row that threads work on at a time; each walks on by as many
    bool offset_a_sequence;
    const double* turns;  // [half] of a step to the next position, negative for the inverse
};

// A thread turns the same pairs of every head that it walks over, so that an angle is worked out once for
// them.
template <int pack, typename T>
MPT_KERNEL(kThreads)
void rope_kernel(Rotation r, const std::int32_t* offset, const T* x, T* y) {
    const std::int64_t of_row = r.packs * r.side_by_side, items = r.positions * of_row;
    for (std::int64_t item = gpu::block_index() * kThreads + gpu::thread_index(); item < items;
         item += gpu::num_blocks() * kThreads) {
        const std::int64_t row = item / of_row, pair = item % r.packs * pack;
        const std::int64_t sequence = r.offset_a_sequence ? row / r.rows : 0;
        const std::int64_t start = offset == nullptr ? 0 : offset[sequence];
        const auto position = static_cast<double>(start + row % r.rows);
        gpu::Turn turns[pack];
        MPT_UNROLL
        for (int k = 0; k < pack; ++k) {
            // Brought into one turn in f64: f32 has no digits left for the angle of a late position.
            const double turn = position * r.turns[pair + k];
            turns[k] = gpu::turned_by(static_cast<float>(turn - std::rint(turn)));
        }
        for (std::int64_t head = item / r.packs % r.side_by_side; head < r.walked; head += r.side_by_side) {
            const std::int64_t at = (row * r.heads + head) * 2 * r.half + pair;
            float first[pack], second[pack];
            gpu::load<pack>(x + at, first);
            gpu::load<pack>(x + at + r.half, second);
            if (head < r.turned) {
                MPT_UNROLL
                for (int k = 0; k < pack; ++k) {
                    const float one = first[k];
                    first[k] = one * turns[k].cosine - second[k] * turns[k].sine;
                    second[k] = one * turns[k].sine + second[k] * turns[k].cosine;
                }
            }
            gpu::store<pack>(y + at, first);
            gpu::store<pack>(y + at + r.half, second);
        }
    }
}

PreparedKernel prepare(const Signature& signature) {
    const gpu::Call s(signature);
    const auto& attributes = s.attributes.as<RopeAttributes>();
    const Shape x = s.in(0).shape;
    constexpr double kTurn = 6.283185307179586;
    std::vector<double> turns;
    for (std::int64_t i = 0; i < x[-1] / 2; ++i) turns.push_back(rope_angle(attributes, 1, i, x[-1]) / kTurn);
    const std::shared_ptr<gpu::Memory> table = gpu::upload(*s.device, turns);
    Rotation r{};
    r.rows = x[1];
    r.positions = x[0] * x[1];
    r.half = x[-1] / 2;
    r.heads = x.num_elements() / (r.positions * x[-1]);
    r.turned = attributes.parts * x[-2];
    r.side_by_side = std::min<std::int64_t>(r.heads, 8);
    r.offset_a_sequence = s.has(1) && s.in(1).shape.rank() == 1;
    r.turns = reinterpret_cast<const double*>(table->data());
    return {[s, r, table](const KernelArgs& a) {
                gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
                    gpu::with_pack<gpu::kPerPack<T>>(
                        r.half, [&]<int pack>(std::integral_constant<int, pack>) {
                            Rotation shape = r;
                            shape.packs = r.half / pack;
                            shape.walked = a.inputs[0] == a.outputs[0] ? r.turned : r.heads;
                            const std::int64_t items = shape.positions * shape.packs * shape.side_by_side;
                            gpu::launch(*s.device,
                                        {.blocks = gpu::blocks_for(*s.device, items, kThreads),
                                         .threads = kThreads,
                                         .threads_meet = false},
                                        rope_kernel<pack, T>, shape,
                                        s.has(1) ? a.in<std::int32_t>(1) : nullptr, a.in<T>(0), a.out<T>(0));
                        });
                });
            },
            0, "cuda"};
}

}  // namespace

MPT_REGISTER_CUDA(rope)(KernelTable& table) {
    table.add({rope_op.name, "cuda", gpu::refusal, prepare});
}

}  // namespace mpt

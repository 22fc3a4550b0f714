#include "ops/cuda_kernel.h"
#include "ops/max_pool/max_pool.h"

// Unrolled, windows of f32 spill on sm_100.
#ifdef MPT_HOST_TWIN
#define MPT_ROLLED
#else
#define MPT_ROLLED _Pragma("unroll 1")
#endif

namespace mpt {

namespace {

struct Pool {
    int images, height, width, channels, out_h, out_w;
    int window, stride, pad;
    const float *scale, *shift;  // of channels, or null
    bool relu;
};

// Where the pack with this number lies in [images, rows, columns, channels]. In 32 bits: a division of 64
// takes long, and its registers spill.
template <int pack>
struct Place {
    int c, column, row, image;
    MPT_DEVICE Place(std::int64_t number, int channels, int rows, int columns) {
        const auto packs = static_cast<std::uint32_t>(channels / pack);
        const auto p = static_cast<std::uint32_t>(number);
        const std::uint32_t pixel = p / packs, line = pixel / static_cast<std::uint32_t>(columns);
        const std::uint32_t picture = line / static_cast<std::uint32_t>(rows);
        c = static_cast<int>(p - pixel * packs) * pack;
        column = static_cast<int>(pixel - line * static_cast<std::uint32_t>(columns));
        row = static_cast<int>(line - picture * static_cast<std::uint32_t>(rows));
        image = static_cast<int>(picture);
    }
};

MPT_DEVICE std::int64_t pixel_at(const Pool& p, int image, int h, int w) {
    return ((std::int64_t{image} * p.height + h) * p.width + w) * p.channels;
}

// The number of this thread's first pack.
MPT_DEVICE std::int64_t first_pack() {
    return gpu::block_index() * 256 + gpu::thread_index();
}

template <int pack, typename T>
MPT_KERNEL(256)
void forward_kernel(Pool p, const T* x, T* y, std::uint8_t* index) {
    const std::int64_t packs = std::int64_t{p.images} * p.out_h * p.out_w * (p.channels / pack);
    for (std::int64_t i = first_pack(); i < packs; i += gpu::num_blocks() * 256) {
        const Place<pack> to(i, p.channels, p.out_h, p.out_w);
        float best[pack] = {}, place[pack], scale[pack] = {}, shift[pack] = {};
        if (p.scale != nullptr) {
            gpu::load<pack>(p.scale + to.c, scale);
            gpu::load<pack>(p.shift + to.c, shift);
        }
        for (int k = 0; k < pack; ++k) place[k] = -1;
        for (int a = 0; a < p.window; ++a) {
            MPT_ROLLED
            for (int b = 0; b < p.window; ++b) {
                const int h = to.row * p.stride - p.pad + a, w = to.column * p.stride - p.pad + b;
                if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
                float v[pack];
                gpu::load<pack>(x + pixel_at(p, to.image, h, w) + to.c, v);
                for (int k = 0; k < pack; ++k) {
                    if (p.scale != nullptr) v[k] = v[k] * scale[k] + shift[k];
                    if (p.relu && v[k] < 0) v[k] = 0;
                    const bool greater = v[k] > best[k] || (v[k] != v[k] && best[k] == best[k]);
                    if (place[k] >= 0 && !greater) continue;
                    best[k] = v[k];
                    place[k] = static_cast<float>(a * p.window + b);
                }
            }
        }
        gpu::store<pack>(y + i * pack, best);
        gpu::store<pack>(index + i * pack, place);
    }
}

// Each pixel of x gathers from the windows that hold it, in their order.
template <int pack, typename T>
MPT_KERNEL(256)
void backward_kernel(Pool p, const T* grad_y, const std::uint8_t* index, T* grad_x) {
    const std::int64_t packs = std::int64_t{p.images} * p.height * p.width * (p.channels / pack);
    for (std::int64_t i = first_pack(); i < packs; i += gpu::num_blocks() * 256) {
        const Place<pack> to(i, p.channels, p.height, p.width);
        float sums[pack] = {};
        for (int a = p.window - 1; a >= 0; --a)
            for (int b = p.window - 1; b >= 0; --b) {
                const int down = to.row + p.pad - a, right = to.column + p.pad - b;
                if (down < 0 || right < 0 || down % p.stride != 0 || right % p.stride != 0) continue;
                const int r = down / p.stride, q = right / p.stride;
                if (r >= p.out_h || q >= p.out_w) continue;
                const std::int64_t at =
                    ((std::int64_t{to.image} * p.out_h + r) * p.out_w + q) * p.channels + to.c;
                float g[pack], chosen[pack];
                gpu::load<pack>(grad_y + at, g);
                gpu::load<pack>(index + at, chosen);
                for (int k = 0; k < pack; ++k)
                    if (static_cast<int>(chosen[k]) == a * p.window + b) sums[k] += g[k];
            }
        gpu::store<pack>(grad_x + i * pack, sums);
    }
}

gpu::Launch shape_of(const gpu::Call& s, std::int64_t elements, int pack) {
    MPT_CHECK(elements / pack <= std::int64_t{0xffffffff}, "more than 2^32 packs in one tensor");
    return {.blocks = gpu::blocks_for(*s.device, elements, std::int64_t{256} * pack), .threads_meet = false};
}

// Of either direction: x is the larger side.
template <typename Attributes>
Pool pool_of(const Attributes& a, const Shape& x, const Shape& y) {
    return {static_cast<int>(x[0]),
            static_cast<int>(x[1]),
            static_cast<int>(x[2]),
            static_cast<int>(x[3]),
            static_cast<int>(y[1]),
            static_cast<int>(y[2]),
            static_cast<int>(a.window),
            static_cast<int>(a.stride),
            static_cast<int>(a.pad),
            nullptr,
            nullptr,
            false};
}

void run_forward(const gpu::Call& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<MaxPoolAttributes>();
    const Shape &x = s.in(0).shape, &y = s.out(0).shape;
    Pool pool = pool_of(a, x, y);
    if (a.affine) pool.scale = args.in<float>(1), pool.shift = args.in<float>(2), pool.relu = a.relu;
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(x[3], [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, shape_of(s, y.num_elements(), pack), forward_kernel<pack, T>, pool,
                        args.in<T>(0), args.out<T>(0), args.out<std::uint8_t>(1));
        });
    });
}

void run_backward(const gpu::Call& s, const KernelArgs& args) {
    const auto& a = s.attributes.as<MaxPoolBackwardAttributes>();
    const Shape &x = s.out(0).shape, &y = s.in(0).shape;
    const Pool pool = pool_of(a, x, y);
    gpu::with_storage(s.out(0).dtype, [&]<typename T>(T) {
        gpu::with_pack<gpu::kPerPack<T>>(x[3], [&]<int pack>(std::integral_constant<int, pack>) {
            gpu::launch(*s.device, shape_of(s, x.num_elements(), pack), backward_kernel<pack, T>, pool,
                        args.in<T>(0), args.in<std::uint8_t>(1), args.out<T>(0));
        });
    });
}

gpu::PoolSpec spec_of(const Signature& s) {
    gpu::PoolSpec p;
    const auto take = [&p](const auto& a, const Shape& x, const Shape& y) {
        p.n = x[0], p.h = x[1], p.w = x[2], p.c = x[3], p.p = y[1], p.q = y[2];
        p.window_h = p.window_w = a.window, p.stride = a.stride, p.pad = a.pad;
    };
    p.dtype = s.in(0).dtype;
    p.backward = s.op == &max_pool_backward_op;
    if (p.backward) {
        take(s.attributes.as<MaxPoolBackwardAttributes>(), s.out(0).shape, s.in(0).shape);
        return p;
    }
    const auto& a = s.attributes.as<MaxPoolAttributes>();
    take(a, s.in(0).shape, s.out(0).shape);
    p.affine = a.affine, p.relu = a.relu;
    return p;
}

gpu::Planned<gpu::PoolArgs> plan_library(const Signature& signature) {
    const gpu::Call s(signature);
    const auto own = [s](const gpu::PoolArgs& a) {
        const auto plain = [](const void* data) { return const_cast<void*>(data); };
        if (s.op == &max_pool_backward_op) {
            void* const inputs[] = {plain(a.from), a.index};
            run_backward(s, {inputs, {&a.to, 1}, a.workspace});
        } else {
            void* const inputs[] = {plain(a.from), plain(a.scale), plain(a.shift)};
            void* const outputs[] = {a.to, a.index};
            run_forward(s, {inputs, outputs, a.workspace});
        }
    };
    return s.device->plan_pool(spec_of(s), {own, 0});
}

std::string library_refusal(const Signature& s) {
    const std::string why = gpu::refusal(s);
    if (!why.empty()) return why;
    return gpu::current_device() == nullptr ? "needs a device" : plan_library(s).refusal;
}

PreparedKernel prepare_library(const Signature& s) {
    const gpu::Planned<gpu::PoolArgs> plan = plan_library(s);
    return {[plan, backward = s.op == &max_pool_backward_op](const KernelArgs& a) {
                gpu::PoolArgs args{a.inputs[0], a.outputs[0], backward ? a.inputs[1] : a.outputs[1]};
                if (!backward && a.inputs.size() == 3)
                    args.scale = a.in<float>(1), args.shift = a.in<float>(2);
                args.workspace = a.workspace;
                plan.run(args);
            },
            plan.workspace_bytes, plan.description};
}

}  // namespace

MPT_REGISTER_CUDA(max_pool)(KernelTable& table) {
    for (const OpType* op : {&max_pool_op, &max_pool_backward_op})
        table.add({op->name, "cudnn", library_refusal, prepare_library});
    table.add(gpu::kernel<run_forward>(max_pool_op));
    table.add(gpu::kernel<run_backward>(max_pool_backward_op));
}

}  // namespace mpt

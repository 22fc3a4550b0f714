#include "ops/cuda_kernel.h"
#include "ops/image_normalize/image_normalize.h"

namespace mpt {

namespace {

constexpr int kMostChannels = 4;

// Selected, not indexed: a parameter that is indexed by a variable goes to local memory.
struct Normalize {
    float scale[kMostChannels], shift[kMostChannels];
    int channels;
    MPT_DEVICE float at(int c, float pixel) const {
        float factor = scale[0], offset = shift[0];
        MPT_UNROLL
        for (int k = 1; k < kMostChannels; ++k) {
            factor = c == k ? scale[k] : factor;
            offset = c == k ? shift[k] : offset;
        }
        return pixel * factor + offset;
    }
    MPT_DEVICE float operator()(std::int64_t i, float pixel) const {
        return at(static_cast<int>(i % channels), pixel);
    }
};

// A pixel a thread, its channels in one store.
template <int padded, typename T>
MPT_KERNEL(256)
void padded_kernel(Normalize f, std::int64_t pixels, const std::uint8_t* images, T* x) {
    for (std::int64_t p = gpu::block_index() * 256 + gpu::thread_index(); p < pixels;
         p += gpu::num_blocks() * 256) {
        float v[padded] = {};
        MPT_UNROLL
        for (int c = 0; c < kMostChannels; ++c)
            if (c < f.channels) v[c] = f.at(c, gpu::widen(images[p * f.channels + c]));
        gpu::store<padded>(x + p * padded, v);
    }
}

std::string refusal(const Signature& s) {
    if (s.attributes.as<ImageNormalizeAttributes>().scale.size() > kMostChannels)
        return "takes images of up to 4 channels";
    const std::int64_t padded = s.out(0).shape[3];
    if (padded != s.in(0).shape[3] && padded != 4 && padded != 8) return "pads to 4 or 8 channels";
    return gpu::refusal(s);
}

void run_image_normalize(const gpu::Call& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<ImageNormalizeAttributes>();
    Normalize f{};
    f.channels = static_cast<int>(attributes.scale.size());
    for (std::size_t c = 0; c < attributes.scale.size(); ++c) {
        f.scale[c] = attributes.scale[c];
        f.shift[c] = attributes.shift[c];
    }
    const std::int64_t padded = s.out(0).shape[3], pixels = gpu::elements_of(s) / padded;
    const gpu::Launch shape = {.blocks = gpu::blocks_for(*s.device, pixels, 256), .threads_meet = false};
    gpu::with_storage(s.out(0).dtype, [&]<typename T>(T) {
        if (padded == 4)
            gpu::launch(*s.device, shape, padded_kernel<4, T>, f, pixels, a.in<std::uint8_t>(0), a.out<T>(0));
        else if (padded == 8)
            gpu::launch(*s.device, shape, padded_kernel<8, T>, f, pixels, a.in<std::uint8_t>(0), a.out<T>(0));
        else
            gpu::map(*s.device, gpu::elements_of(s), f, a.out<T>(0), a.in<std::uint8_t>(0));
    });
}

}  // namespace

MPT_REGISTER_CUDA(image_normalize)(KernelTable& table) {
    table.add(gpu::kernel<run_image_normalize>(image_normalize_op, refusal));
}

}  // namespace mpt

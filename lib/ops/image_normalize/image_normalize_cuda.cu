#include "ops/cuda_kernel.h"
#include "ops/image_normalize/image_normalize.h"

namespace mpt {

namespace {

constexpr int kMostChannels = 4;

struct Normalize {
    float scale[kMostChannels], shift[kMostChannels];
    int channels;
    MPT_DEVICE float operator()(std::int64_t i, float pixel) const {
        const int c = static_cast<int>(i % channels);
        // Selected, not indexed: a parameter that is indexed by a variable goes to local memory.
        float factor = scale[0], offset = shift[0];
        for (int k = 1; k < kMostChannels; ++k) {
            factor = c == k ? scale[k] : factor;
            offset = c == k ? shift[k] : offset;
        }
        return pixel * factor + offset;
    }
};

std::string refusal(const Signature& s) {
    if (s.attributes.as<ImageNormalizeAttributes>().scale.size() > kMostChannels)
        return "takes images of up to 4 channels";
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
    gpu::with_storage(s.out(0).dtype, [&]<typename T>(T) {
        gpu::map(*s.device, gpu::elements_of(s), f, a.out<T>(0), a.in<std::uint8_t>(0));
    });
}

}  // namespace

MPT_REGISTER_CUDA(image_normalize)(KernelTable& table) {
    table.add(gpu::kernel<run_image_normalize>(image_normalize_op, refusal));
}

}  // namespace mpt

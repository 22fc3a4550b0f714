#include "ops/image_normalize/image_normalize.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_image_normalize(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<ImageNormalizeAttributes>();
    const auto images = reference::input(s, a, 0);
    const auto x = reference::output(s, a, 0);
    const std::int64_t channels = s.in(0).shape[3], padded = s.out(0).shape[3];
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int64_t pixel = i / padded;
        const auto c = static_cast<std::size_t>(i % padded);
        const bool given = i % padded < channels;
        x.set(i, given ? images(pixel * channels + i % padded) * static_cast<double>(attributes.scale[c]) +
                             static_cast<double>(attributes.shift[c])
                       : 0.0);
    }
}

}  // namespace

void register_image_normalize_ref(KernelTable& table) {
    table.add(reference::kernel<run_image_normalize>(image_normalize_op));
}

}  // namespace mpt

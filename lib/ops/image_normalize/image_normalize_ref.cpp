#include "ops/image_normalize/image_normalize.h"
#include "ops/reference.h"

namespace mpt {

namespace {

void run_image_normalize(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<ImageNormalizeAttributes>();
    const auto images = reference::input(s, a, 0);
    const auto x = reference::output(s, a, 0);
    const std::size_t channels = attributes.scale.size();
    for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::size_t c = static_cast<std::size_t>(i) % channels;
        x.set(i, images(i) * static_cast<double>(attributes.scale[c]) +
                     static_cast<double>(attributes.shift[c]));
    }
}

}  // namespace

void register_image_normalize_ref(KernelTable& table) {
    table.add(reference::kernel<run_image_normalize>(image_normalize_op));
}

}  // namespace mpt

#include <cmath>

#include "ops/reference.h"
#include "ops/rope/rope.h"

namespace mpt {

namespace {

void run_rope(const Signature& s, const KernelArgs& a) {
    const auto& attributes = s.attributes.as<RopeAttributes>();
    const auto x = reference::input(s, a, 0);
    const auto y = reference::output(s, a, 0);
    const std::int32_t* offsets = s.has(1) ? a.in<std::int32_t>(1) : nullptr;
    const std::int64_t rows = x.dim(1), size = x.dim(-1), half = size / 2;
    const std::int64_t heads = x.size() / (x.dim(0) * rows * size);  // of all parts
    const std::int64_t turned = attributes.parts * x.dim(-2);
    for (std::int64_t head = 0; head < x.size() / size; ++head) {
        const std::int64_t sequence = s.in(1).shape.rank() == 0 ? 0 : head / (heads * rows);
        const std::int64_t offset = offsets == nullptr ? 0 : offsets[sequence];
        for (std::int64_t i = 0; i < half; ++i) {
            const bool turns = head % heads < turned;
            const double angle = turns ? rope_angle(attributes, offset + head / heads % rows, i, size) : 0;
            const double first = x(head * size + i), second = x(head * size + half + i);
            y.set(head * size + i, first * std::cos(angle) - second * std::sin(angle));
            y.set(head * size + half + i, first * std::sin(angle) + second * std::cos(angle));
        }
    }
}

}  // namespace

void register_rope_ref(KernelTable& table) {
    table.add(reference::kernel<run_rope>(rope_op));
}

}  // namespace mpt

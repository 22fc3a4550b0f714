#include "ops/update_op.h"

#include "core/error.h"

namespace mpt {

TensorType control_type() {
    return {Shape{static_cast<std::int64_t>(sizeof(StepControl))}, DType::u8};
}

std::vector<TensorType> infer_update(const UpdateSlots& slots, std::span<const TensorType> inputs) {
    MPT_CHECK(static_cast<int>(inputs.size()) == slots.control + 1, "update with a wrong count of inputs");
    const auto in = [&](int slot) { return inputs[static_cast<std::size_t>(slot)]; };
    MPT_CHECK(in(slots.control) == control_type(), "update without its control block");
    const Shape& region = in(slots.master).shape;
    MPT_CHECK(region.rank() == 1, "updates work on flat regions");
    MPT_CHECK(in(slots.master).dtype == DType::f32 || is_narrow(in(slots.master).dtype),
              "dtype of the master");
    MPT_CHECK((in(slots.gradient) == TensorType{region, DType::f32}),
              "the gradient is not f32 of the region");
    std::vector<TensorType> outputs;
    for (int slot = 0; slot < slots.control; ++slot) {
        const bool absent = in(slot).shape.rank() == 0;
        MPT_CHECK(!absent || slot >= slots.moment1, "master and gradient are needed");
        MPT_CHECK(absent || in(slot).shape == region, "regions of one update differ in size");
        const bool moment = slot == slots.moment1 || slot == slots.moment2;
        MPT_CHECK(absent || !moment || in(slot).dtype == DType::f32, "moments are f32");
        MPT_CHECK(absent || slot != slots.narrow || is_narrow(in(slot).dtype),
                  "the narrow copy is f16 or bf16");
        outputs.push_back(absent ? TensorType{Shape{0}, in(slot).dtype} : in(slot));
    }
    return outputs;
}

std::vector<Alias> update_aliases(const UpdateSlots& slots) {
    std::vector<Alias> aliases;
    for (int slot = 0; slot < slots.control; ++slot) aliases.push_back({slot, slot});
    return aliases;
}

}  // namespace mpt

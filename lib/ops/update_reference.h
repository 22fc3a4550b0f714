// What the reference kernels of the optimizer ops share: f64 arithmetic element by element.
#pragma once

#include <cstring>

#include "ops/reference.h"
#include "ops/update_op.h"
#include "optim/segments.h"

namespace mpt::reference {

struct UpdateArgs {
    Tensor master, gradient, moment1, moment2,
        narrow;  // outputs' memory; values of the inputs were copied in
    StepControl control;

    double scaled_gradient(std::int64_t i) const {
        return gradient(i) * static_cast<double>(control.gradient_factor);
    }
    static void keep(const Tensor& tensor, std::int64_t i, double value) {
        const double largest = static_cast<double>(largest_finite(tensor.type.dtype));
        tensor.set(i, std::clamp(value, -largest, largest));
    }
    void finish(std::int64_t i, double new_master) const {
        gradient.set(i, 0);
        keep(master, i, new_master);
        if (narrow) narrow.set(i, master(i));
    }
};

inline UpdateArgs update_args(const UpdateSlots& slots, const Signature& s, const KernelArgs& a) {
    const auto in_place = [&](int slot) -> Tensor {
        if (slot == kNone || !s.has(slot)) return {};
        const Tensor in = input(s, a, slot), out = output(s, a, slot);
        if (in.data != out.data) std::memcpy(out.data, in.data, static_cast<std::size_t>(in.type.bytes()));
        return out;
    };
    UpdateArgs args = {in_place(slots.master),  in_place(slots.gradient), in_place(slots.moment1),
                       in_place(slots.moment2), in_place(slots.narrow),   {}};
    std::memcpy(&args.control, a.in<void>(slots.control), sizeof args.control);
    if (args.control.skip != 0)
        for (std::int64_t i = 0; i < args.gradient.size(); ++i) args.gradient.set(i, 0);
    return args;
}

}  // namespace mpt::reference

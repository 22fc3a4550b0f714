#include "ops/samples.h"
#include "ops/silu/silu.h"

namespace mpt {

void register_silu_samples(SampleTable& table) {
    for (const double range : {2.0, 60.0})
        for (const Shape& shape : {Shape{1}, Shape{7}, Shape{4, 33}, Shape{2, 500}}) {
            const std::string name = to_string(shape) + " in " + std::to_string(static_cast<int>(range));
            const SampleInput x{shape, -range, range};
            table.add({name, &silu_op, {}, {x}});
            table.add({name, &silu_backward_op, {}, {{shape}, x}});
        }
}

}  // namespace mpt

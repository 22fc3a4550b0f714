#include "ops/gelu/gelu.h"
#include "ops/samples.h"

namespace mpt {

void register_gelu_samples(SampleTable& table) {
    for (const GeluForm form : {GeluForm::kExact, GeluForm::kTanh})
        for (const double range : {1.0, 4.0, 40.0})
            for (const Shape& shape : {Shape{1}, Shape{7}, Shape{4, 33}, Shape{2, 500}}) {
                const std::string name = to_string(shape) + " in " + std::to_string(static_cast<int>(range));
                const SampleInput x{shape, -range, range};
                table.add({name, &gelu_op, GeluAttributes{form}, {x}});
                table.add({name, &gelu_backward_op, GeluAttributes{form}, {{shape}, x}});
            }
}

}  // namespace mpt

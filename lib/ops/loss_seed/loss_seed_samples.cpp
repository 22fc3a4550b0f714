#include <cstring>

#include "ops/loss_seed/loss_seed.h"
#include "ops/samples.h"
#include "optim/step_control.h"

namespace mpt {

void register_loss_seed_samples(SampleTable& table) {
    for (const float scale : {1.0f, 65536.0f}) {
        StepControl control;
        control.loss_scale = scale;
        std::uint8_t bytes[sizeof control];
        std::memcpy(bytes, &control, sizeof control);
        SampleInput weight{{}};
        weight.kind = SampleInput::Kind::kWide;
        SampleInput block{{static_cast<std::int64_t>(sizeof control)}};
        block.kind = SampleInput::Kind::kBytes;
        block.values.assign(std::begin(bytes), std::end(bytes));
        table.add({"loss_scale=" + std::to_string(scale), &loss_seed_op, {}, {weight, block}});
    }
}

}  // namespace mpt

#include "layers/update.h"

#include "core/error.h"
#include "ops/ema_update/ema_update.h"
#include "ops/gradient_check/gradient_check.h"
#include "ops/step_decision/step_decision.h"
#include "optim/step_control.h"

namespace mpt {

namespace {

int num_moments(const UpdateConfig& config) {
    if (const auto* sgd = std::get_if<SgdUpdateAttributes>(&config.optimizer))
        return sgd->momentum != 0 ? 1 : 0;
    if (std::holds_alternative<LarsUpdateAttributes>(config.optimizer)) return 1;
    return 2;
}

// A whole region as one flat value; kNone when the run does not have it.
ValueId whole(GraphBuilder& builder, Region region) {
    const VariableTable::RegionInfo info = builder.variables()->region(region);
    if (info.elements == 0) return kNone;
    return builder.stored(name_of(region), {{info.elements}, info.dtype}, {region, 0});
}

}  // namespace

void enable_update_regions(VariableTable& variables, const UpdateConfig& config) {
    const std::int64_t elements = variables.parameter_elements();
    if (num_moments(config) >= 1) variables.enable(Region::kMoment1, DType::f32, elements);
    if (num_moments(config) >= 2) variables.enable(Region::kMoment2, DType::f32, elements);
    if (config.ema > 0) variables.enable(Region::kEma, DType::f32, elements);
    variables.enable(Region::kControl, DType::u8, sizeof(StepControl));
}

ValueId control_value(GraphBuilder& builder) {
    return builder.stored("control", {{static_cast<std::int64_t>(sizeof(StepControl))}, DType::u8},
                          {Region::kControl, 0});
}

void build_update(GraphBuilder& builder, const UpdateConfig& config) {
    builder.set_phase(Phase::kUpdate);
    const ValueId gradient = whole(builder, Region::kGradient);
    ValueId control = gradient_check(builder, gradient, control_value(builder));
    control = step_decision(builder, control, config.rule);
    builder.output("control", control);

    const ValueId master = whole(builder, Region::kMaster);
    const ValueId narrow = whole(builder, Region::kNarrow);
    const ValueId moment1 = whole(builder, Region::kMoment1);
    const ValueId moment2 = whole(builder, Region::kMoment2);
    ValueId updated = kNone;
    if (const auto* sgd = std::get_if<SgdUpdateAttributes>(&config.optimizer))
        updated = sgd_update(builder, *sgd, {master, gradient, moment1, narrow, control}).front();
    else if (const auto* lars = std::get_if<LarsUpdateAttributes>(&config.optimizer))
        updated = lars_update(builder, *lars, {master, gradient, moment1, narrow, control}).front();
    else if (const auto* adam = std::get_if<AdamUpdateAttributes>(&config.optimizer))
        updated = adam_update(builder, *adam, {master, gradient, moment1, moment2, narrow, control}).front();
    else
        updated = lamb_update(builder, std::get<LambUpdateAttributes>(config.optimizer),
                              {master, gradient, moment1, moment2, narrow, control})
                      .front();
    if (config.ema > 0) ema_update(builder, whole(builder, Region::kEma), updated, control, config.ema);
}

}  // namespace mpt

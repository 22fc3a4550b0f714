// ema_update(ema[E] f32, master[E], control) -> ema', in place: ema = d * ema + (1 - d) * master with
// d = min(decay, (1 + t) / (10 + t)), t = applied updates, this one included: a young average forgets fast,
// so that it does not stick to the start values. A skipped update leaves it alone.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct EmaUpdateAttributes {
    double decay = 0.999;
    bool operator==(const EmaUpdateAttributes&) const = default;
};
std::string print(const EmaUpdateAttributes& attributes);

extern const OpType ema_update_op;

ValueId ema_update(GraphBuilder& builder, ValueId ema, ValueId master, ValueId control, double decay,
                   const std::string& name = "ema_update");

double ema_decay(double decay, std::int64_t applied);

}  // namespace mpt

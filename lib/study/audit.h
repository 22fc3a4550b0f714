// The precision audit: what every node of a plan really runs in.
#pragma once

#include <vector>

#include "study/study.h"

namespace mpt {

// `gpu` null: the kernels are this machine's. Otherwise what the GPU would compute in.
std::vector<AuditRow> audit_of(const Plan& plan, const Gpu* gpu, Tf32 tf32);
std::vector<CastRow> casts_of(const Graph& graph);

}  // namespace mpt

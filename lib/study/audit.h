// The precision audit: what every node of a plan really runs in.
#pragma once

#include <vector>

#include "study/study.h"

namespace mpt {

struct AuditFor {
    const Gpu* gpu =
        nullptr;  // null: the kernels are this machine's. Otherwise what the GPU would compute in
    Tf32 tf32 = Tf32::kOff;
    std::int64_t fp8_vocabulary = 0;  // not 0: linear layers but those of so many features multiply in fp8
};
std::vector<AuditRow> audit_of(const Plan& plan, const AuditFor& audit);
std::vector<CastRow> casts_of(const Graph& graph);

}  // namespace mpt

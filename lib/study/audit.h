// The precision audit: what every node of a plan really runs in.
#pragma once

#include <string>
#include <vector>

#include "study/study.h"

namespace mpt {

struct AuditFor {
    const Gpu* gpu =
        nullptr;  // null: the kernels are this machine's. Otherwise what the GPU would compute in
    Tf32 tf32 = Tf32::kOff;
    std::vector<std::string> not_in_fp8 = {};  // "node stays ...: why" (StepFamily)
};
std::vector<AuditRow> audit_of(const Plan& plan, const AuditFor& audit);
std::vector<CastRow> casts_of(const Graph& graph);

}  // namespace mpt

#include "optim/segments.h"

namespace mpt {

namespace {

bool is_exempt(Role role, const DecayExclusion& exclude) {
    if (role == Role::kNormGain || role == Role::kNormBias) return exclude.norm;
    return role == Role::kBias && exclude.bias;
}

std::string rule_text(const DecayExclusion& exclude) {
    std::string kinds;
    if (exclude.norm) kinds += "norm";
    if (exclude.bias) kinds += kinds.empty() ? "bias" : ", bias";
    return "exclude_from_decay: [" + kinds + "]";
}

}  // namespace

DecayGroups decay_groups(const VariableTable& variables, const DecayExclusion& exclude) {
    DecayGroups groups;
    std::vector<Segment> segments;
    std::int64_t decayed_elements = 0;
    std::int64_t exempt_elements = 0;
    for (const Variable& variable : variables.all()) {
        if (is_statistic(variable.role)) continue;
        const bool decayed = !is_exempt(variable.role, exclude);
        segments.push_back({variable.offset, variable.num_elements(), decayed});
        ++(decayed ? groups.num_decayed : groups.num_exempt);
        (decayed ? decayed_elements : exempt_elements) += segments.back().elements;
    }
    groups.segments = SegmentTable(std::move(segments));
    groups.summary = "weight decay: " + std::to_string(groups.segments.size()) + " tensors, " +
                     std::to_string(groups.num_decayed) + " decayed (" + std::to_string(decayed_elements) +
                     " values), " + std::to_string(groups.num_exempt) + " exempt (" +
                     std::to_string(exempt_elements) + " values), by " + rule_text(exclude);
    return groups;
}

}  // namespace mpt

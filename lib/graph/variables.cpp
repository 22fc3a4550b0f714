#include "graph/variables.h"

#include "core/error.h"

namespace mpt {

const char* name_of(Region region) {
    static constexpr std::array<const char*, kNumRegions> kNames = {
        "master", "narrow", "gradient", "moment1", "moment2", "ema", "statistics", "control", "scaling"};
    return kNames[static_cast<std::size_t>(region)];
}

int VariableTable::get_or_add(const std::string& name, const Shape& shape, Role role, Initializer init,
                              FileLayout layout) {
    const int known = find(name);
    if (known >= 0) {
        const Variable& variable = variables_[static_cast<std::size_t>(known)];
        MPT_CHECK(variable.shape == shape && variable.role == role && variable.layout == layout,
                  "variable " + name + " used with two shapes, roles or layouts");
        return known;
    }
    MPT_CHECK(layout.rows == 0 || (layout.rows <= shape[0] && !layout.transposed), name + ": padded rows");
    MPT_CHECK(!layout.transposed || shape.rank() == 2, name + " is transposed and no matrix");
    std::int64_t& elements = is_statistic(role) ? statistics_elements_ : parameter_elements_;
    variables_.push_back({name, shape, role, init, elements, layout});
    elements += (shape.num_elements() + kVariableAlignment - 1) / kVariableAlignment * kVariableAlignment;
    if (is_statistic(role))
        enable(Region::kStatistics, DType::f32, statistics_elements_);
    else
        for (const Region r : {Region::kMaster, Region::kGradient})
            enable(r, DType::f32, parameter_elements_);
    return static_cast<int>(variables_.size()) - 1;
}

int VariableTable::find(const std::string& name) const {
    for (std::size_t i = 0; i < variables_.size(); ++i)
        if (variables_[i].name == name) return static_cast<int>(i);
    return -1;
}

std::int64_t VariableTable::scaling_offset(const std::string& name, std::int64_t elements) {
    for (const ScalingState& state : scaling_)
        if (state.name == name) {
            MPT_CHECK(state.elements == elements, "scaling state " + name + " used with two sizes");
            return state.offset;
        }
    const std::int64_t offset = region(Region::kScaling).elements;
    scaling_.push_back({name, offset, elements});
    enable(Region::kScaling, DType::f32,
           offset + (elements + kVariableAlignment - 1) / kVariableAlignment * kVariableAlignment);
    return offset;
}

std::int64_t VariableTable::num_parameters() const {
    std::int64_t count = 0;
    for (const Variable& variable : variables_)
        if (!is_statistic(variable.role)) count += variable.num_elements();
    return count;
}

std::int64_t VariableTable::region_bytes(Region r) const {
    const RegionInfo info = region(r);
    return info.elements * static_cast<std::int64_t>(size_of(info.dtype));
}

void VariableTable::enable(Region r, DType dtype, std::int64_t elements) {
    regions_[static_cast<std::size_t>(r)] = {dtype, elements};
}

}  // namespace mpt

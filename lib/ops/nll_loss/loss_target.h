// What a row of a loss aims at, for the kernels: its label, or the two labels of a mixed sample.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace mpt {

template <typename Real>
struct LossTarget {
    std::int32_t label, second;
    Real share;  // of `label`; 1 where there is no second one

    // The part of the target that is column `c`, before smoothing.
    MPT_HOST_DEVICE Real of(std::int64_t c) const {
        return (c == label ? share : Real{0}) + (c == second ? 1 - share : Real{0});
    }
    // The mean of a value of both labels. What counts nothing may be infinite.
    MPT_HOST_DEVICE Real mean(Real of_label, Real of_second) const {
        return share == 1 ? of_label : share * of_label + (1 - share) * of_second;
    }
    MPT_HOST_DEVICE bool is_known(std::int64_t classes) const {
        return label >= 0 && label < classes && second >= 0 && second < classes;
    }
};

// `second` and `share` are null unless samples are mixed.
struct LossTargets {
    const std::int32_t* labels;
    const std::int32_t* second;
    const float* share;
    MPT_HOST_DEVICE LossTarget<float> at(std::int64_t row) const {
        if (second == nullptr) return {labels[row], labels[row], 1};
        return {labels[row], second[row], share[row]};
    }
};

}  // namespace mpt

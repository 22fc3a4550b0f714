// The combinations of a sweep: `--over train.batch_size=8,16 --over precision.mode=fp32,amp_fp16`.
#pragma once

#include <string>
#include <vector>

namespace mpt {

struct SweepAxis {
    std::string key;
    std::vector<std::string> values;
    bool operator==(const SweepAxis&) const = default;
};

// "key=a,b,c"; commas within brackets and quotes do not part values. Throws Error(kUsage).
SweepAxis parse_axis(const std::string& text);

// One value of each axis, in order; the last axis turns fastest.
using SweepPoint = std::vector<std::string>;
std::vector<SweepPoint> points_of(const std::vector<SweepAxis>& axes);

// "007-train.batch_size=16,precision.mode=fp32" without what a folder's name cannot hold.
std::string folder_of(std::size_t index, const std::vector<SweepAxis>& axes, const SweepPoint& point);

}  // namespace mpt

#include "report/sweep_grid.h"

#include <fmt/format.h>

#include <cctype>

#include "core/error.h"

namespace mpt {

namespace {

constexpr std::size_t kMostPoints = 100000;

std::vector<std::string> parted(const std::string& text) {
    std::vector<std::string> values(1);
    int depth = 0;
    char quote = 0;
    for (const char c : text) {
        if (quote != 0) {
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        } else if (c == ',' && depth == 0) {
            values.emplace_back();
            continue;
        }
        values.back() += c;
    }
    return values;
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
    const std::size_t equals = text.find('=');
    const std::string wanted = "; it must be KEY=VALUE,VALUE,... as in train.batch_size=8,16,32";
    if (equals == std::string::npos || equals == 0)
        throw Error(ExitCode::kUsage, "--over " + text + " has no key" + wanted);
    SweepAxis axis{text.substr(0, equals), parted(text.substr(equals + 1))};
    for (const std::string& value : axis.values)
        if (value.empty()) throw Error(ExitCode::kUsage, "--over " + text + " has an empty value" + wanted);
    return axis;
}

std::vector<SweepPoint> points_of(const std::vector<SweepAxis>& axes) {
    std::vector<SweepPoint> points(1);
    for (const SweepAxis& axis : axes) {
        if (points.size() * axis.values.size() > kMostPoints)
            throw Error(ExitCode::kUsage,
                        fmt::format("the sweep has more than {} combinations", kMostPoints));
        std::vector<SweepPoint> longer;
        for (const SweepPoint& point : points)
            for (const std::string& value : axis.values) {
                longer.push_back(point);
                longer.back().push_back(value);
            }
        points = std::move(longer);
    }
    return points;
}

std::string folder_of(std::size_t index, const std::vector<SweepAxis>& axes, const SweepPoint& point) {
    constexpr std::size_t kLongest = 120;
    std::string name = fmt::format("{:03}", index);
    for (std::size_t a = 0; a < axes.size(); ++a) {
        name += a == 0 ? "-" : ",";
        for (const char c : axes[a].key + "=" + point[a]) {
            const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                               c == '=' || c == '-' || c == '+';
            name += plain ? c : '_';
        }
    }
    return name.substr(0, kLongest);
}

}  // namespace mpt

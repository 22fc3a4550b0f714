// Charts as SVG text: lines over numbers or over words. Colours and fonts are written into the file, nothing
// is fetched.
#pragma once

#include <string>
#include <vector>

namespace mpt {

struct ChartSeries {
    std::string name;
    std::vector<double> x, y;  // values that are not finite leave a gap
};

enum class ChartShape { kLine, kSteps, kArea };
enum class ChartScale { kLinear, kLog, kLog2 };

// An event, drawn as a thin line.
struct ChartMark {
    double x = 0;
    int series = -1;  // whose colour it takes; -1: a colour of its own
};

struct Chart {
    std::string title, x_label, y_label;
    ChartShape shape = ChartShape::kLine;
    ChartScale y_scale = ChartScale::kLinear;
    std::vector<ChartSeries> series;
    std::vector<ChartMark> marks;
    std::string marks_label;              // what they are
    std::vector<std::string> categories;  // when given, x counts them: 0, 1, ...
    int width = 720, height = 300;
};

std::string svg(const Chart& chart);
std::string xml_escaped(const std::string& text);

// Round numbers for an axis from low to high, at most `most`.
std::vector<double> nice_ticks(double low, double high, int most);

}  // namespace mpt

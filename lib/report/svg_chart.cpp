#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mpt {

namespace {

// Colours that stay apart for the colour-blind (Okabe and Ito).
constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#7a5195", "#444444"};
constexpr double kLeft = 74, kRight = 14, kTop = 30, kBottom = 44;
constexpr std::size_t kMostPoints = 1500;  // a curve needs no more than its pixels

struct Span {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    void add(double value) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool empty() const { return low > high; }
};

class Drawing {
  public:
    explicit Drawing(const Chart& chart) : chart_(chart) {
        for (const ChartSeries& s : chart.series)
            for (std::size_t i = 0; i < s.x.size(); ++i) {
                if (!drawable(s, i)) continue;
                x_.add(s.x[i]);
                y_.add(scaled(s.y[i]));
            }
        if (!chart.categories.empty()) x_ = {-0.4, static_cast<double>(chart.categories.size()) - 0.6};
        if (chart.shape == ChartShape::kArea && !y_.empty()) y_.low = std::min(0.0, y_.low);
        widen();
    }

    std::string text() const {
        std::string out = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{0}\" height=\"{1}\" "
            "fill=\"#ffffff\"/>\n<text x=\"{2}\" y=\"18\" font-size=\"13\" font-weight=\"bold\">{3}</text>\n",
            chart_.width, chart_.height, kLeft, xml_escaped(chart_.title));
        if (x_.empty() || y_.empty())
            return out + fmt::format("<text x=\"{}\" y=\"{}\">no values</text>\n</svg>\n", kLeft,
                                     chart_.height / 2);
        out += axes() + marks();
        for (std::size_t s = 0; s < chart_.series.size(); ++s) out += curve(s);
        return out + legend() + "</svg>\n";
    }

  private:
    double scaled(double y) const {
        if (chart_.y_scale == ChartScale::kLinear) return y;
        return chart_.y_scale == ChartScale::kLog ? std::log10(y) : std::log2(y);
    }
    // The y of a tick, and what stands beside it. Ticks of logarithms are whole.
    std::vector<std::pair<double, std::string>> y_ticks() const {
        std::vector<std::pair<double, std::string>> ticks;
        const bool log = chart_.y_scale != ChartScale::kLinear;
        const char* base = chart_.y_scale == ChartScale::kLog2 ? "2^" : "1e";
        for (const double tick : nice_ticks(y_.low, y_.high, 6))
            if (!log || tick == std::round(tick))
                ticks.emplace_back(tick,
                                   log ? fmt::format("{}{:.0f}", base, tick) : fmt::format("{:.4g}", tick));
        return ticks;
    }
    bool drawable(const ChartSeries& s, std::size_t i) const {
        constexpr double kMost = 1e300;  // so that differences are finite, too
        return i < s.y.size() && std::abs(s.x[i]) < kMost && std::abs(scaled(s.y[i])) < kMost;
    }
    void widen() {
        if (y_.empty() || x_.empty()) return;
        if (x_.high == x_.low) x_ = {x_.low - 0.5, x_.high + 0.5};
        const double pad =
            y_.high > y_.low ? 0.05 * (y_.high - y_.low) : std::max(0.5, 0.1 * std::abs(y_.low));
        if (chart_.shape != ChartShape::kArea) y_.low -= pad;
        y_.high += pad;
    }
    double px(double x) const {
        return kLeft + (x - x_.low) / (x_.high - x_.low) * (chart_.width - kLeft - kRight);
    }
    double py(double y) const { return place(scaled(y)); }
    double place(double scaled_y) const {
        return chart_.height - kBottom -
               (scaled_y - y_.low) / (y_.high - y_.low) * (chart_.height - kTop - kBottom);
    }

    std::string axes() const {
        const double bottom = chart_.height - kBottom, right = chart_.width - kRight;
        std::string out;
        for (const auto& [tick, text] : y_ticks())
            out += fmt::format(
                "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#dddddd\"/>"
                "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                kLeft, right, place(tick), place(tick), kLeft - 6, place(tick) + 4, text);
        const auto label = [&](double x, const std::string& text) {
            out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", px(x),
                               bottom + 15, xml_escaped(text));
        };
        for (std::size_t c = 0; c < chart_.categories.size(); ++c)
            label(static_cast<double>(c), chart_.categories[c]);
        if (chart_.categories.empty())
            for (const double tick : nice_ticks(x_.low, x_.high, 8)) label(tick, fmt::format("{:.6g}", tick));
        out += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
            "stroke=\"#888888\"/>\n",
            kLeft, kTop, right - kLeft, bottom - kTop);
        out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                           (kLeft + right) / 2, bottom + 34, xml_escaped(chart_.x_label));
        out += fmt::format(
            "<text transform=\"translate(14,{:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            (kTop + bottom) / 2, xml_escaped(chart_.y_label));
        return out;
    }

    std::string marks() const {
        std::string out;
        for (const ChartMark& mark : chart_.marks)
            if (mark.x >= x_.low && mark.x <= x_.high)
                out += fmt::format(
                    "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
                    "stroke=\"{3}\" stroke-width=\"1\" stroke-dasharray=\"3 2\"/>\n",
                    px(mark.x), kTop, chart_.height - kBottom, colour_of(mark));
        return out;
    }

    static const char* colour_of(const ChartMark& mark) {
        return mark.series < 0 ? "#d00000"
                               : kColours[static_cast<std::size_t>(mark.series) % kColours.size()];
    }

    std::string curve(std::size_t index) const {
        const ChartSeries& s = chart_.series[index];
        const char* colour = kColours[index % kColours.size()];
        const std::size_t every = std::max<std::size_t>(1, s.x.size() / kMostPoints);
        std::string out, path, dots;
        double last_x = 0, last_y = 0, first_x = 0;
        bool open = false;
        const auto close = [&] {
            if (path.empty()) return;
            if (chart_.shape == ChartShape::kArea)
                out += fmt::format(
                    "<path d=\"{} L{:.1f} {:.1f} L{:.1f} {:.1f} Z\" fill=\"{}\" "
                    "fill-opacity=\"0.25\"/>\n",
                    path, last_x, py(0), first_x, py(0), colour);
            out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
                               colour);
            path.clear();
        };
        for (std::size_t i = 0; i < s.x.size(); i += every) {
            if (!drawable(s, i)) {
                close();
                open = false;
                continue;
            }
            const double x = px(s.x[i]), y = py(s.y[i]);
            if (!open) first_x = x;
            if (open && chart_.shape != ChartShape::kLine) path += fmt::format(" L{:.1f} {:.1f}", x, last_y);
            path += fmt::format("{}{:.1f} {:.1f}", open ? " L" : "M", x, y);
            if (s.x.size() <= 40 && chart_.shape == ChartShape::kLine)
                dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x, y,
                                    colour);
            last_x = x;
            last_y = y;
            open = true;
        }
        close();
        return out + dots;
    }

    std::string legend() const {
        std::string out;
        double x = chart_.width - kRight;
        const auto entry = [&](const std::string& name, const char* colour) {
            const double width = 6.2 * static_cast<double>(name.size()) + 22;
            x -= width;
            out += fmt::format(
                "<rect x=\"{:.1f}\" y=\"12\" width=\"10\" height=\"4\" fill=\"{}\"/>"
                "<text x=\"{:.1f}\" y=\"18\">{}</text>\n",
                x, colour, x + 14, xml_escaped(name));
        };
        if (!chart_.marks.empty())
            entry(chart_.marks_label, chart_.series.size() > 1 ? "#888888" : colour_of(chart_.marks.front()));
        if (chart_.series.size() < 2) return out;
        for (std::size_t s = chart_.series.size(); s-- > 0;)
            entry(chart_.series[s].name, kColours[s % kColours.size()]);
        return out;
    }

    const Chart& chart_;
    Span x_, y_;
};

}  // namespace

std::string xml_escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

std::vector<double> nice_ticks(double low, double high, int most) {
    std::vector<double> ticks;
    if (!(high > low) || most < 1) return ticks;
    const double raw = (high - low) / most;
    const double power = std::pow(10, std::floor(std::log10(raw)));
    double step = 10 * power;
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= raw) {
            step = factor * power;
            break;
        }
    for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
        ticks.push_back(k == 0 ? 0 : k * step);
    return ticks;
}

std::string svg(const Chart& chart) {
    return Drawing(chart).text();
}

}  // namespace mpt

#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "report/svg_chart.h"

namespace mpt {

namespace {

constexpr const char* kStyle =
    "body{font-family:sans-serif;margin:1.5em 1em;max-width:1500px;color:#222}h1{font-size:1.4em}"
    "h2{font-size:1.1em;margin-top:1.6em}table{border-collapse:collapse}td,th{border:1px solid #ccc;"
    "padding:.25em .6em;text-align:right}td:first-child,th:first-child{text-align:left}"
    "td.text{text-align:left;max-width:48em}tr.best "
    "td.best{font-weight:bold}td.best{background:#e8f4e8}.charts{display:flex;flex-wrap:wrap;gap:6px}"
    "pre{background:#f6f6f6;padding:.8em;overflow:auto;max-height:30em}svg{border:1px solid #eee}";

enum class Rows { kTrain, kEvaluation };

struct Curve {
    const char* key;
    const char* title;
    const char* label;
    Rows rows;
    double factor;
    ChartShape shape;
};

constexpr Curve kCurves[] = {
    {"loss", "training loss", "loss", Rows::kTrain, 1, ChartShape::kLine},
    {"loss", "evaluation loss", "loss", Rows::kEvaluation, 1, ChartShape::kLine},
    {"top1", "training accuracy", "top1 %", Rows::kTrain, 100, ChartShape::kLine},
    {"top1", "evaluation accuracy", "top1 %", Rows::kEvaluation, 100, ChartShape::kLine},
    {"perplexity", "evaluation perplexity", "perplexity", Rows::kEvaluation, 1, ChartShape::kLine},
    {"bits_per_character", "evaluation bits a character", "bits", Rows::kEvaluation, 1, ChartShape::kLine},
    {"bleu", "BLEU", "BLEU", Rows::kEvaluation, 1, ChartShape::kLine},
    {"lr", "learning rate", "rate", Rows::kTrain, 1, ChartShape::kLine},
    {"loss_scale", "loss scale", "scale", Rows::kTrain, 1, ChartShape::kSteps},
    {"grad_norm", "norm of the gradient", "norm", Rows::kTrain, 1, ChartShape::kLine},
    {"images_per_sec", "throughput", "images/s", Rows::kTrain, 1, ChartShape::kLine},
    {"tokens_per_sec", "throughput", "tokens/s", Rows::kTrain, 1, ChartShape::kLine},
    {"data_wait_ms", "waiting for data", "ms an update", Rows::kTrain, 1, ChartShape::kLine},
};

const RowColumns& rows_of(const RunRecord& run, Rows rows) {
    return rows == Rows::kTrain ? run.train : run.evaluation;
}

std::string chart_of(const std::vector<RunRecord>& runs, const Curve& curve) {
    Chart chart;
    chart.title = curve.title;
    chart.x_label = "update";
    chart.y_label = curve.label;
    chart.shape = curve.shape;
    const bool scale = std::string_view(curve.key) == "loss_scale";
    if (scale) chart.y_scale = ChartScale::kLog2;
    for (const RunRecord& run : runs) {
        const RowColumns& rows = rows_of(run, curve.rows);
        if (!rows.has(curve.key)) continue;
        ChartSeries series{run.name, rows["step"], rows[curve.key]};
        for (double& y : series.y) y *= curve.factor;
        chart.series.push_back(std::move(series));
        const int index = static_cast<int>(chart.series.size()) - 1;
        if (scale)
            for (const double x : run.skipped_at) chart.marks.push_back({x, runs.size() > 1 ? index : -1});
    }
    if (chart.series.empty()) return {};
    chart.marks_label = "skipped updates";
    return svg(chart);
}

struct Column {
    const char* key;
    const char* title;
    double factor;
    int better;  // 1: higher, -1: lower, 0: neither
};
constexpr Column kColumns[] = {
    {"end", "ended", 1, 0},
    {"precision", "precision", 1, 0},
    {"batch", "batch", 1, 0},
    {"step", "updates", 1, 0},
    {"skipped", "skipped", 1, 0},
    {"loss", "loss", 1, -1},
    {"top1", "top1 %", 100, 1},
    {"top5", "top5 %", 100, 1},
    {"perplexity", "perplexity", 1, -1},
    {"bits_per_character", "bits/char", 1, -1},
    {"bleu", "BLEU", 1, 1},
    {"images_per_sec_median", "images/s", 1, 1},
    {"tokens_per_sec_median", "tokens/s", 1, 1},
    {"elapsed", "seconds", 1, 0},
    {"reason", "why it ended", 1, 0},
};

std::string summary_value(const RunRecord& run, const std::string& key) {
    const auto found = run.summary.find(key);
    return found == run.summary.end() ? std::string() : found->second;
}

std::string comparison(const std::vector<RunRecord>& runs) {
    std::vector<Column> shown;
    for (const Column& column : kColumns)
        if (std::ranges::any_of(runs,
                                [&](const RunRecord& r) { return !summary_value(r, column.key).empty(); }))
            shown.push_back(column);
    std::string text = "<table><tr><th>run</th>";
    for (const Column& column : shown) text += fmt::format("<th>{}</th>", column.title);
    text += "</tr>\n";
    for (const RunRecord& run : runs) {
        text += fmt::format("<tr class=\"best\"><td>{}</td>", xml_escaped(run.name));
        for (const Column& column : shown) {
            const std::string value = summary_value(run, column.key);
            char* end = nullptr;
            const double number = std::strtod(value.c_str(), &end);
            const bool numeric = !value.empty() && *end == '\0';
            const bool best = numeric && column.better != 0 && runs.size() > 1 &&
                              std::ranges::all_of(runs, [&](const RunRecord& other) {
                                  const std::string theirs = summary_value(other, column.key);
                                  return theirs.empty() ||
                                         column.better * (number - std::strtod(theirs.c_str(), nullptr)) >= 0;
                              });
            const char* style = best ? " class=\"best\"" : value.size() > 20 ? " class=\"text\"" : "";
            text += fmt::format("<td{}>{}</td>", style,
                                numeric ? fmt::format("{:.5g}", number * column.factor) : xml_escaped(value));
        }
        text += "</tr>\n";
    }
    return text + "</table>\n";
}

// The values of a resolved config by "section.key".
std::map<std::string, std::string> settings_of(const std::string& config) {
    std::map<std::string, std::string> settings;
    std::vector<std::pair<std::size_t, std::string>> path;  // sections the line stands in, by indent
    std::istringstream lines(config);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t indent = line.find_first_not_of(' ');
        if (indent == std::string::npos || line[indent] == '#') continue;
        while (!path.empty() && path.back().first >= indent) path.pop_back();
        const std::string text = line.substr(indent);
        const std::size_t colon = text.find(':');
        if (colon == text.size() - 1) {
            path.emplace_back(indent, text.substr(0, colon));
            continue;
        }
        std::string full;
        for (const auto& [depth, name] : path) full += name + ".";
        if (colon == std::string::npos)
            settings[full] += text;  // an item of a list
        else
            settings[full + text.substr(0, colon)] = text.substr(std::min(colon + 2, text.size()));
    }
    return settings;
}

// Keys whose values are not the same in all runs, a column a run.
std::string differences(const std::vector<RunRecord>& runs) {
    if (runs.size() < 2) return {};
    std::vector<std::map<std::string, std::string>> settings;
    std::set<std::string> keys;
    for (const RunRecord& run : runs) {
        settings.push_back(settings_of(run.config));
        for (const auto& [key, value] : settings.back()) keys.insert(key);
    }
    std::string rows;
    for (const std::string& key : keys) {
        if (key == "name" || key == "output_dir") continue;  // no two runs share them
        std::set<std::string> values;
        std::string row = fmt::format("<tr><td>{}</td>", xml_escaped(key));
        for (const auto& of_run : settings) {
            const auto found = of_run.find(key);
            const std::string value = found == of_run.end() ? "" : found->second;
            values.insert(value);
            row += fmt::format("<td>{}</td>", xml_escaped(value));
        }
        if (values.size() > 1) rows += row + "</tr>\n";
    }
    if (rows.empty()) return "<p>The configs are the same.</p>\n";
    std::string text = "<h2>what differs in the configs</h2>\n<table><tr><th>key</th>";
    for (const RunRecord& run : runs) text += fmt::format("<th>{}</th>", xml_escaped(run.name));
    return text + "</tr>\n" + rows + "</table>\n";
}

}  // namespace

std::string html_report(const std::vector<RunRecord>& runs, const std::vector<ReportPicture>& pictures) {
    std::string text = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>mpt-train report</title>"
        "<style>{}</style></head><body>\n<h1>mpt-train: {} run{}</h1>\n",
        kStyle, runs.size(), runs.size() == 1 ? "" : "s");
    text += comparison(runs) + differences(runs);
    text += "<h2>curves</h2>\n<div class=\"charts\">\n";
    for (const Curve& curve : kCurves) text += chart_of(runs, curve);
    text += "</div>\n";
    if (!pictures.empty()) text += "<h2>planned memory over a micro-step</h2>\n<div class=\"charts\">\n";
    for (const ReportPicture& picture : pictures) text += picture.svg;
    if (!pictures.empty()) text += "</div>\n";
    for (const RunRecord& run : runs)
        if (!run.config.empty())
            text += fmt::format(
                "<h2>config of {}</h2>\n<details><summary>show</summary><pre>{}</pre></details>\n",
                xml_escaped(run.name), xml_escaped(run.config));
    return text + "</body></html>\n";
}

}  // namespace mpt

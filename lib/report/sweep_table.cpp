#include "report/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "report/svg_chart.h"

namespace mpt {

namespace {

using Json = nlohmann::ordered_json;

std::optional<double> value_of(const SweepRow& row, SweepMetric metric) {
    switch (metric) {
        case SweepMetric::kThroughput:
            return row.per_second;
        case SweepMetric::kLoss:
            return row.loss;
        case SweepMetric::kTop1:
            return row.top1;
        case SweepMetric::kPerplexity:
            return row.perplexity;
        case SweepMetric::kBleu:
            return row.bleu;
    }
    return std::nullopt;
}

std::string metric_label(const std::vector<SweepRow>& rows, SweepMetric metric) {
    switch (metric) {
        case SweepMetric::kThroughput:
            for (const SweepRow& row : rows)
                if (!row.unit.empty()) return row.unit + "/s";
            return "items/s";
        case SweepMetric::kLoss:
            return "loss";
        case SweepMetric::kTop1:
            return "top1";
        case SweepMetric::kPerplexity:
            return "perplexity";
        case SweepMetric::kBleu:
            return "BLEU";
    }
    return {};
}

bool higher_is_better(SweepMetric metric) {
    return metric == SweepMetric::kThroughput || metric == SweepMetric::kTop1 || metric == SweepMetric::kBleu;
}

std::string number(const std::optional<double>& value, const char* none) {
    return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string(none);
}

Json json_number(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

std::optional<double> number_at(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
}

Json row_json(const SweepRow& row) {
    return {{"index", row.index},
            {"point", row.point},
            {"status", name_of(row.status)},
            {"reason", row.reason},
            {"unit", row.unit},
            {"per_second", json_number(row.per_second)},
            {"loss", json_number(row.loss)},
            {"top1", json_number(row.top1)},
            {"perplexity", json_number(row.perplexity)},
            {"bleu", json_number(row.bleu)},
            {"skipped", row.skipped},
            {"peak_mib", row.peak_mib},
            {"seconds", row.seconds},
            {"folder", row.folder}};
}

// The scores that a model of this kind has: a column each, where any row has it.
struct Score {
    const char* name;
    std::optional<double> SweepRow::*value;
};
std::vector<Score> scores_of(const std::vector<SweepRow>& rows) {
    std::vector<Score> scores;
    for (const Score& score : {Score{"loss", &SweepRow::loss}, Score{"top1", &SweepRow::top1},
                               Score{"perplexity", &SweepRow::perplexity}, Score{"bleu", &SweepRow::bleu}})
        if (std::ranges::any_of(rows, [&](const SweepRow& row) { return (row.*score.value).has_value(); }))
            scores.push_back(score);
    return scores;
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

std::string row_label(const std::vector<SweepAxis>& axes, const SweepRow& row) {
    std::string label;
    for (std::size_t a = 0; a < axes.size(); ++a)
        label += (label.empty() ? "" : ", ") + axes[a].key + "=" + row.point[a];
    return label;
}

}  // namespace

std::string_view name_of(SweepStatus status) {
    switch (status) {
        case SweepStatus::kOk:
            return "ok";
        case SweepStatus::kOutOfMemory:
            return "out_of_memory";
        case SweepStatus::kFailed:
            return "failed";
    }
    return "?";
}

SweepMetric sweep_metric(const std::string& word) {
    if (word == "throughput") return SweepMetric::kThroughput;
    if (word == "loss") return SweepMetric::kLoss;
    if (word == "top1") return SweepMetric::kTop1;
    if (word == "perplexity") return SweepMetric::kPerplexity;
    if (word == "bleu") return SweepMetric::kBleu;
    throw Error(ExitCode::kUsage,
                "--best " + word + ": throughput, loss, top1, perplexity and bleu are possible");
}

std::optional<std::size_t> best_row(const std::vector<SweepRow>& rows, SweepMetric metric) {
    std::optional<std::size_t> best;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::optional<double> value = value_of(rows[r], metric);
        if (rows[r].status != SweepStatus::kOk || !value || !std::isfinite(*value)) continue;
        const double held = best ? *value_of(rows[*best], metric) : 0;
        if (!best || (higher_is_better(metric) ? *value > held : *value < held)) best = r;
    }
    return best;
}

std::string to_json(const SweepRow& row) {
    return row_json(row).dump(-1, ' ', false, Json::error_handler_t::replace);
}

SweepRow sweep_row(const std::string& json_line) {
    const Json json = Json::parse(json_line);
    SweepRow row;
    row.index = json.at("index").get<std::size_t>();
    row.point = json.at("point").get<SweepPoint>();
    const std::string status = json.at("status").get<std::string>();
    row.status = status == "ok"              ? SweepStatus::kOk
                 : status == "out_of_memory" ? SweepStatus::kOutOfMemory
                                             : SweepStatus::kFailed;
    row.reason = json.at("reason").get<std::string>();
    row.unit = json.at("unit").get<std::string>();
    row.per_second = number_at(json, "per_second");
    row.loss = number_at(json, "loss");
    row.top1 = number_at(json, "top1");
    row.perplexity = number_at(json, "perplexity");
    row.bleu = number_at(json, "bleu");
    row.skipped = json.at("skipped").get<std::int64_t>();
    row.peak_mib = json.at("peak_mib").get<double>();
    row.seconds = json.at("seconds").get<double>();
    row.folder = json.at("folder").get<std::string>();
    return row;
}

std::string csv(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows) {
    std::string text;
    for (const SweepAxis& axis : axes) text += quoted(axis.key) + ",";
    const std::vector<Score> scores = scores_of(rows);
    text += "status,per_second,unit,";
    for (const Score& score : scores) text += score.name + std::string(",");
    text += "skipped,peak_mib,seconds,folder,reason\n";
    for (const SweepRow& row : rows) {
        for (const std::string& value : row.point) text += quoted(value) + ",";
        text += fmt::format("{},{},{},", name_of(row.status), number(row.per_second, ""), row.unit);
        for (const Score& score : scores) text += number(row.*score.value, "") + ",";
        text += fmt::format("{},{:.1f},{:.2f},{},{}\n", row.skipped, row.peak_mib, row.seconds,
                            quoted(row.folder), quoted(row.reason));
    }
    return text;
}

std::string json(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows, SweepMetric metric) {
    Json list = Json::array(), over = Json::object();
    for (const SweepAxis& axis : axes) over[axis.key] = axis.values;
    for (const SweepRow& row : rows) list.push_back(row_json(row));
    const std::optional<std::size_t> best = best_row(rows, metric);
    const Json all = {{"over", over}, {"rows", list}, {"best", best ? row_json(rows[*best]) : Json(nullptr)}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string markdown(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows,
                     SweepMetric metric) {
    std::string head = "|", rule = "|";
    for (const SweepAxis& axis : axes) {
        head += " " + axis.key + " |";
        rule += "---|";
    }
    const std::string rate = metric_label(rows, SweepMetric::kThroughput);
    head += " status | " + rate + " |";
    rule += "---|---|";
    const std::vector<Score> scores = scores_of(rows);
    for (const Score& score : scores) {
        head += std::string(" ") + score.name + " |";
        rule += "---|";
    }
    std::string text = head + " peak MiB | s |\n" + rule + "---|---|\n";
    const std::optional<std::size_t> best = best_row(rows, metric);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const SweepRow& row = rows[r];
        text += "|";
        for (const std::string& value : row.point) text += " " + value + " |";
        text += fmt::format(" {}{} | {} |", name_of(row.status), best == r ? " (best)" : "",
                            number(row.per_second, "-"));
        for (const Score& score : scores) text += " " + number(row.*score.value, "-") + " |";
        text += fmt::format(" {:.0f} | {:.1f} |\n", row.peak_mib, row.seconds);
    }
    for (const SweepRow& row : rows)
        if (row.status != SweepStatus::kOk)
            text += fmt::format("\n{}: {}: {}\n", row_label(axes, row), name_of(row.status), row.reason);
    if (best)
        text += fmt::format("\nbest by {}: {} ({})\n", metric_label(rows, metric),
                            row_label(axes, rows[*best]), number(value_of(rows[*best], metric), "-"));
    if (const std::string largest = largest_fitting(axes, rows); !largest.empty()) text += largest + "\n";
    return text;
}

std::string plot(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows, SweepMetric metric) {
    Chart chart;
    chart.title = metric_label(rows, metric) + " over " + axes.front().key;
    chart.x_label = axes.front().key;
    chart.y_label = metric_label(rows, metric);
    chart.categories = axes.front().values;
    // By place in the grid: an axis may have a value twice.
    std::size_t of_a_value = 1;
    for (std::size_t a = 1; a < axes.size(); ++a) of_a_value *= axes[a].values.size();
    std::map<std::string, ChartSeries> series;
    std::vector<std::string> order;
    for (const SweepRow& row : rows) {
        std::string name;
        for (std::size_t a = 1; a < axes.size(); ++a) name += (name.empty() ? "" : ", ") + row.point[a];
        if (!series.contains(name)) order.push_back(name);
        ChartSeries& one = series[name];
        one.name = name;
        one.x.push_back(static_cast<double>(row.index / of_a_value));
        one.y.push_back(row.status == SweepStatus::kOk
                            ? value_of(row, metric).value_or(std::numeric_limits<double>::quiet_NaN())
                            : std::numeric_limits<double>::quiet_NaN());
    }
    for (const std::string& name : order) chart.series.push_back(series[name]);
    return svg(chart);
}

std::string largest_fitting(const std::vector<SweepAxis>& axes, const std::vector<SweepRow>& rows) {
    for (std::size_t a = 0; a < axes.size(); ++a) {
        if (axes[a].key != "train.batch_size") continue;
        std::optional<double> largest;
        for (const SweepRow& row : rows) {
            char* end = nullptr;
            const double value = std::strtod(row.point[a].c_str(), &end);
            if (row.status == SweepStatus::kOk && end != row.point[a].c_str())
                largest = std::max(largest.value_or(value), value);
        }
        return largest ? fmt::format("largest {} that ran: {:.15g}", axes[a].key, *largest)
                       : "no " + axes[a].key + " ran";
    }
    return {};
}

}  // namespace mpt

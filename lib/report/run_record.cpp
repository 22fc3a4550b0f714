#include "report/run_record.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"

namespace mpt {

namespace {

namespace fs = std::filesystem;
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

void add_row(RowColumns& columns, const nlohmann::json& row) {
    for (const auto& [key, value] : row.items())
        if (value.is_number() || value.is_null()) columns.by_key[key].resize(columns.rows, kNothing);
    ++columns.rows;
    for (auto& [key, column] : columns.by_key) {
        const auto found = row.find(key);
        column.resize(columns.rows - 1, kNothing);
        column.push_back(found != row.end() && found->is_number() ? found->get<double>() : kNothing);
    }
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// Of a resolved config: the value of `key` right below the section, as written.
std::string config_value(const std::string& config, const std::string& section, const std::string& key) {
    std::istringstream lines(config);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.front() != ' ') inside = line == section + ":";
        const std::string head = "  " + key + ": ";
        if (inside && line.rfind(head, 0) == 0) return line.substr(head.size());
    }
    return {};
}

void note_skips(RunRecord& run) {
    const std::vector<double>& step = run.train["step"];
    const std::vector<double>& skipped = run.train["skipped"];
    double before = 0;
    for (std::size_t i = 0; i < std::min(step.size(), skipped.size()); ++i) {
        if (skipped[i] > before) run.skipped_at.push_back(step[i]);
        before = std::isfinite(skipped[i]) ? skipped[i] : before;
    }
}

// What a summary would say of a run that has not ended, or was killed.
void note_unfinished(RunRecord& run) {
    run.summary["end"] = "not ended";
    const auto last = [&](const RowColumns& rows, const char* key) {
        if (rows.has(key) && std::isfinite(rows[key].back()))
            run.summary[key] = nlohmann::json(rows[key].back()).dump();
    };
    for (const char* key : {"step", "skipped", "elapsed"}) last(run.train, key);
    for (const char* key : {"loss", "top1", "top5", "perplexity", "bits_per_character", "bleu"})
        last(run.evaluation, key);
}

}  // namespace

bool RowColumns::has(const std::string& key) const {
    const auto found = by_key.find(key);
    return found != by_key.end() &&
           std::ranges::any_of(found->second, [](double value) { return std::isfinite(value); });
}

const std::vector<double>& RowColumns::operator[](const std::string& key) const {
    static const std::vector<double> nothing;
    const auto found = by_key.find(key);
    return found == by_key.end() ? nothing : found->second;
}

RunRecord read_run(const fs::path& path) {
    RunRecord run;
    const bool is_file = fs::is_regular_file(path);
    run.folder = is_file ? path.parent_path() : path;
    if (run.folder.empty()) run.folder = ".";
    const fs::path metrics = is_file ? path : path / "metrics.jsonl";
    std::ifstream file(metrics);
    if (!file)
        throw Error(ExitCode::kData, metrics.string() + ": cannot be read; a run's directory is wanted");
    run.name = fs::absolute(run.folder).lexically_normal().filename().string();
    if (run.name.empty())
        run.name = fs::absolute(run.folder).lexically_normal().parent_path().filename().string();
    for (std::string line; std::getline(file, line);) {
        const nlohmann::json row = nlohmann::json::parse(line, nullptr, false);
        if (!row.is_object()) continue;
        const auto word = row.find("kind");
        const std::string kind = word != row.end() && word->is_string() ? word->get<std::string>() : "";
        if (kind == "train") add_row(run.train, row);
        if (kind == "eval") add_row(run.evaluation, row);
        if (kind != "summary") continue;
        run.summary.clear();
        for (const auto& [key, value] : row.items())
            run.summary[key] = value.is_string() ? value.get<std::string>()
                               : value.is_null() ? ""
                                                 : value.dump();
    }
    if (run.train.rows == 0 && run.evaluation.rows == 0)
        throw Error(ExitCode::kData, metrics.string() + ": has no rows of training or evaluation");
    note_skips(run);
    if (run.summary.empty()) note_unfinished(run);
    run.config = text_of(run.folder / "config.yaml");
    // What tells runs apart at a glance.
    if (const std::string mode = config_value(run.config, "precision", "mode"); !mode.empty())
        run.summary["precision"] = mode;
    const bool by_tokens = config_value(run.config, "model", "type") == "transformer";
    if (const std::string batch =
            config_value(run.config, "train", by_tokens ? "batch_tokens" : "batch_size");
        !batch.empty())
        run.summary["batch"] = batch;
    return run;
}

}  // namespace mpt

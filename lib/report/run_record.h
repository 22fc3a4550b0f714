// What a run wrote down: its metrics.jsonl and config.yaml, as columns.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace mpt {

// Rows of one kind as columns by key; what is missing or null is NaN.
struct RowColumns {
    std::size_t rows = 0;
    std::map<std::string, std::vector<double>> by_key;
    bool has(const std::string& key) const;  // a column with at least one finite value
    const std::vector<double>& operator[](const std::string& key) const;
};

struct RunRecord {
    std::string name;
    std::filesystem::path folder;
    RowColumns train, evaluation;
    std::map<std::string, std::string> summary;  // the last one, values as written
    std::vector<double> skipped_at;              // updates that were skipped
    std::string config;                          // text of config.yaml, empty when there is none
};

// `path`: a run's directory or its metrics.jsonl. Torn lines are left out. Throws Error(kData).
RunRecord read_run(const std::filesystem::path& path);

}  // namespace mpt

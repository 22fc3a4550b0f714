// Reading a config file: strict, all faults in one go, every message with its place and the remedy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace mpt {

struct ReadConfig {
    RunConfig config;
    std::string resolved;               // echo of the config: loadable YAML, every key, absolute paths
    std::vector<std::string> warnings;  // one line each, for the log
};

// `overrides` are "a.b=c" from --set, later ones win. Paths in the file are relative to its folder, paths in
// overrides to the working directory. Throws Error(kUsage) with one line a fault.
ReadConfig read_config(const std::string& path, const std::vector<std::string>& overrides = {});

// The same for text in memory: `source` stands for the file in messages, `folder` (absolute) for its folder.
ReadConfig read_config_text(std::string_view text, const std::string& source, const std::string& folder,
                            const std::vector<std::string>& overrides = {});

// The file meant by `--config name`: name itself, name.yaml, or either in ./configs. Throws Error(kUsage)
// listing the places tried.
std::string find_config(const std::string& name);

// The whole config as YAML that read_config reads back to an equal value.
std::string echo(const RunConfig& config);

// Keys that differ, in these sections or of these names at the top level: "train.steps 40 (was 20)".
std::vector<std::string> changed_keys(const RunConfig& now, const RunConfig& then,
                                      const std::vector<std::string>& sections);

// What only the length of an epoch decides: a warm-up longer than the run, if units differ. One line each.
std::vector<std::string> warnings_for(const RunConfig& config, std::int64_t updates_per_epoch);

// Every key with type, default, range and meaning: as plain text for `mpt-train keys`, as configs/README.md.
std::string keys_text();
std::string keys_markdown();

}  // namespace mpt

// What the subcommands share in reading their words.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/read.h"

namespace mpt::app {

// Options that choose and change a config.
struct ConfigOptions {
    std::string config;
    std::vector<std::string> set;
    std::string device, threads;
    void add_to(CLI::App& app);
    ReadConfig read(std::vector<std::string> further_overrides = {}) const;
    std::vector<std::string> overrides() const;
};

// The value of an option as the config reads numbers. Throws Error(kUsage) naming option, text and range.
std::int64_t whole_of(const std::string& option, const std::string& text, std::int64_t min, std::int64_t max);
double real_of(const std::string& option, const std::string& text, double min, double max);

// A line on standard output, on standard error: what would break it or steer a terminal is written out.
void print_line(const std::string& text);
void tell(const std::string& text);  // with "mpt-train: " in front

// Of an option that stands for a key: throws Error(kUsage) naming the option where the key refuses the value.
void check_value(const std::string& option, const std::string& key, const std::string& value);

enum class Parsed { kRun, kHelpShown };
// Throws Error(kUsage), one line with the nearest option.
Parsed parse(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace mpt::app

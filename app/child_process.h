// A command run as a child, its output kept in a file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/stop_flag.h"

namespace mpt::app {

struct ChildResult {
    int exit_code = 0;    // -1 when a signal ended it
    int signal = 0;       // that signal
    double peak_mib = 0;  // most memory it had resident
    double seconds = 0;
    std::string last_line;  // of what it wrote to stderr
};

// `arguments` without the program's name, which is this program's. Standard output and error go to `output`.
// A signal that asks this process to stop is handed on. Throws Error(kResource) when it cannot be started.
ChildResult run_child(const std::vector<std::string>& arguments, const std::filesystem::path& output,
                      const StopFlag& stop);

}  // namespace mpt::app

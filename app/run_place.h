// Where the run lies that a command goes on with or overwrites: its folder may have been moved or copied
// since its config was written.
#pragma once

#include <string>
#include <vector>

#include "command_line.h"

namespace mpt::app {

struct RunWords {
    bool resumes = false, overwrites = false;
    std::string path;           // of --resume; empty: auto
    bool names_output = false;  // --output
};

// The config, its output_dir being where the run's files are: of a config or a checkpoint in a run's folder,
// that folder. Without --config the config is that of the run to resume. Throws Error(kUsage) naming both
// places where either may be meant.
ReadConfig read_config_of_run(ConfigOptions config, std::vector<std::string> overrides,
                              const RunWords& words);

}  // namespace mpt::app

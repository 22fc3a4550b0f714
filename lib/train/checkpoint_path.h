// What a person may mean by a checkpoint, and the config that goes with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/read.h"

namespace mpt {

struct FoundCheckpoint {
    std::filesystem::path path;        // a folder or a safetensors file, compared with the manifest
    std::vector<std::string> notices;  // on damaged ones that another was taken for
};

// A checkpoint's folder, a run's folder (its best checkpoint, else the newest good one) or a safetensors
// file. One that is named itself must be whole: Error(kCheckpoint) then names the file at fault and the last
// good checkpoint beside it. Of a run a damaged best is passed over for the newest good one, as --resume
// does.
FoundCheckpoint find_checkpoint(const std::string& given);

// The config in a checkpoint's folder, or beside a safetensors file. Throws Error(kUsage) when there is none.
ReadConfig config_of_checkpoint(const std::filesystem::path& checkpoint,
                                const std::vector<std::string>& overrides);

}  // namespace mpt

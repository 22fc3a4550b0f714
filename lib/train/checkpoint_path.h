// What a person may mean by a checkpoint, and the config that goes with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/read.h"

namespace mpt {

// A checkpoint's folder, a run's folder (its best checkpoint, else the newest good one) or a safetensors
// file, as an absolute path to folder or file. Throws Error(kCheckpoint).
std::filesystem::path find_checkpoint(const std::string& given);

// The config in a checkpoint's folder, or beside a safetensors file. Throws Error(kUsage) when there is none.
ReadConfig config_of_checkpoint(const std::filesystem::path& checkpoint,
                                const std::vector<std::string>& overrides);

}  // namespace mpt

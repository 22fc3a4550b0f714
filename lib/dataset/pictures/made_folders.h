// A folder that files are written into, made with the folders above it. At the end those that were made, and
// are empty, go again.
#pragma once

#include <filesystem>

namespace mpt {

class MadeFolders {
  public:
    // Throws Error(kResource).
    explicit MadeFolders(const std::filesystem::path& folder);
    ~MadeFolders();
    MadeFolders(const MadeFolders&) = delete;
    MadeFolders& operator=(const MadeFolders&) = delete;

  private:
    std::filesystem::path folder_;
    int num_made_ = 0;
};

}  // namespace mpt

#include "dataset/pictures/made_folders.h"

#include "core/error.h"

namespace mpt {
namespace fs = std::filesystem;

MadeFolders::MadeFolders(const fs::path& folder) : folder_(fs::absolute(folder).lexically_normal()) {
    if (!folder_.has_filename()) folder_ = folder_.parent_path();  // a slash at the end
    std::error_code error;
    for (fs::path at = folder_; !fs::exists(at, error) && at.has_relative_path(); at = at.parent_path())
        ++num_made_;
    fs::create_directories(folder_, error);
    if (error) throw Error(ExitCode::kResource, folder_.string() + ": cannot be made: " + error.message());
}

MadeFolders::~MadeFolders() {
    std::error_code error;
    for (fs::path at = folder_; num_made_ > 0; --num_made_, at = at.parent_path())
        if (!fs::remove(at, error)) return;  // holds something
}

}  // namespace mpt

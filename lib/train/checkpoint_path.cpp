#include "train/checkpoint_path.h"

#include "core/error.h"
#include "train/checkpoint_store.h"
#include "train/run_directory.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

fs::path best_or_newest(const fs::path& checkpoints, const std::string& run_id) {
    std::error_code dangling;
    const fs::path best = fs::canonical(checkpoints / "best", dangling);
    if (!dangling) return best;
    const NewestCheckpoint newest = newest_checkpoint(checkpoints, run_id);
    if (!newest.checkpoint)
        throw Error(ExitCode::kCheckpoint, checkpoints.string() + ": holds no checkpoint yet");
    return newest.checkpoint->head.path;
}

}  // namespace

fs::path find_checkpoint(const std::string& given) {
    const fs::path path = fs::absolute(given).lexically_normal();
    if (!fs::exists(path))
        throw Error(ExitCode::kCheckpoint, path.string() + ": there is no such checkpoint");
    if (!fs::is_directory(path) || fs::exists(path / "manifest.json")) return fs::canonical(path);
    if (fs::exists(path / "checkpoints"))
        return best_or_newest(path / "checkpoints", RunDirectory(path).run_id());
    if (path.filename() == "checkpoints" || path.parent_path().filename() == "checkpoints")
        return best_or_newest(path, {});
    throw Error(ExitCode::kCheckpoint,
                path.string() + ": is neither a checkpoint (manifest.json) nor a run (checkpoints/)");
}

ReadConfig config_of_checkpoint(const fs::path& checkpoint, const std::vector<std::string>& overrides) {
    const fs::path folder = fs::is_directory(checkpoint) ? checkpoint : checkpoint.parent_path();
    const fs::path config = folder / "config.yaml";
    if (!fs::exists(config))
        throw Error(ExitCode::kUsage, config.string() +
                                          ": there is no such file; say with --config FILE what model " +
                                          checkpoint.filename().string() + " is of");
    return read_config(config.string(), overrides);
}

}  // namespace mpt

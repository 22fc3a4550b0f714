#include "train/checkpoint_path.h"

#include "core/error.h"
#include "train/checkpoint_store.h"
#include "train/run_directory.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

FoundCheckpoint best_or_newest(const fs::path& checkpoints, const std::string& run_id) {
    FoundCheckpoint found;
    std::error_code dangling;
    const fs::path best = fs::canonical(checkpoints / "best", dangling);
    if (!dangling) {
        try {
            return {read_checkpoint(best).head.path, {}};
        } catch (const Error& error) {
            found.notices.push_back(std::string(error.what()) + "; the newest good one is used");
        }
    }
    const NewestCheckpoint newest = newest_checkpoint(checkpoints, run_id);
    if (!newest.checkpoint)
        throw Error(ExitCode::kCheckpoint, checkpoints.string() + ": holds no checkpoint yet");
    for (const std::string& complaint : newest.complaints)
        if (found.notices.empty() || !found.notices.front().starts_with(complaint))
            found.notices.push_back(complaint + "; the one before it is used");
    found.path = newest.checkpoint->head.path;
    return found;
}

}  // namespace

FoundCheckpoint find_checkpoint(const std::string& given) {
    fs::path path = fs::absolute(given).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // a slash at the end
    if (!fs::exists(path))
        throw Error(ExitCode::kCheckpoint, path.string() + ": there is no such checkpoint");
    if (!fs::is_directory(path)) {
        path = fs::canonical(path);
        check_named_weights(path);
        return {path, {}};
    }
    if (fs::exists(path / "checkpoints"))
        return best_or_newest(path / "checkpoints", RunDirectory(path).run_id());
    if (path.filename() == "checkpoints") return best_or_newest(path, {});
    if (path.parent_path().filename() == "checkpoints" || fs::exists(path / "manifest.json") ||
        fs::exists(path / "weights.safetensors"))
        return {read_named_checkpoint(fs::canonical(path)).head.path, {}};
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

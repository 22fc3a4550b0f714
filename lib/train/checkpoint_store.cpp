#include "train/checkpoint_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "train/durable_file.h"

namespace mpt {
namespace fs = std::filesystem;
namespace {

// A name with one of these in front is never a checkpoint.
constexpr const char* kSaving = ".saving-";      // not yet complete
constexpr const char* kReplaced = ".replaced-";  // complete, until the new one has its name
constexpr const char* kRemoving = ".removing-";

void rename_or_throw(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) throw Error(ExitCode::kResource, to.string() + ": cannot rename: " + error.message());
}

fs::path beside(const fs::path& path, const char* prefix) {
    return path.parent_path() / (prefix + path.filename().string());
}

void remove_checkpoint(const fs::path& path) {
    std::error_code ignored;  // a leftover is removed by the next clean_up
    const fs::path doomed = beside(path, kRemoving);
    fs::remove_all(doomed, ignored);
    fs::rename(path, doomed, ignored);
    fs::remove_all(doomed, ignored);
}

// The name of a new directory goes over that of an old one in two renames; clean_up knows the state between.
void put_in_place(const fs::path& written, const fs::path& path) {
    const fs::path replaced = beside(path, kReplaced);
    if (fs::exists(path)) rename_or_throw(path, replaced);
    rename_or_throw(written, path);
    sync_directory(path.parent_path());
    std::error_code ignored;
    fs::remove_all(replaced, ignored);
}

bool is_newer(const CheckpointHead& a, const CheckpointHead& b) {
    return a.sequence != b.sequence ? a.sequence > b.sequence : a.step > b.step;
}

std::vector<fs::path> step_folders(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
        if (entry.path().filename().string().starts_with("step-") && entry.is_directory())
            paths.push_back(entry.path());
    std::sort(paths.rbegin(), paths.rend());
    return paths;
}

}  // namespace

int CheckpointStore::clean_up() const {
    int count = 0;
    std::error_code ignored;
    std::vector<fs::path> leftovers;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(kReplaced)) {
            const fs::path original = folder_ / name.substr(std::string(kReplaced).size());
            if (!fs::exists(original)) rename_or_throw(entry.path(), original);
        }
        if (name.starts_with(kSaving) || name.starts_with(kReplaced) || name.starts_with(kRemoving))
            leftovers.push_back(entry.path());
    }
    for (const fs::path& path : leftovers) {
        if (!fs::exists(fs::symlink_status(path))) continue;
        fs::remove_all(path, ignored);
        ++count;
    }
    return count;
}

fs::path CheckpointStore::path_of(std::int64_t step) const {
    return folder_ / fmt::format("step-{:08}", step);
}

fs::path CheckpointStore::save(const TrainingState& state, const StoreView& store,
                               const std::string& config) {
    CheckpointHead head;
    head.run_id = run_id_;
    head.step = state.control.attempted;
    head.sequence = 1;
    for (const CheckpointHead& other : list_checkpoints(folder_))
        head.sequence = std::max(head.sequence, other.sequence + 1);
    const fs::path path = path_of(head.step);
    const fs::path temporary = beside(path, kSaving);
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    try {
        write_checkpoint(temporary, head, state, store, config, extras_);
    } catch (...) {
        fs::remove_all(temporary, ignored);
        throw;
    }
    put_in_place(temporary, path);
    if (state.best.value) link_best(state.best.step);
    retain(state.best.value ? state.best.step : -1);
    return path;
}

void CheckpointStore::link_best(std::int64_t step) const {
    const fs::path target = path_of(step).filename();
    const fs::path link = folder_ / "best";
    std::error_code error;
    if (!fs::exists(folder_ / target) || fs::read_symlink(link, error) == target) return;
    const fs::path temporary = folder_ / (std::string(kSaving) + "best");
    fs::remove(temporary, error);
    fs::create_directory_symlink(target, temporary, error);
    if (error) return;  // a file system without links: the state names the best anyway
    rename_or_throw(temporary, link);
    sync_directory(folder_);
}

void CheckpointStore::retain(std::int64_t best_step) const {
    if (!keep_) return;
    std::int64_t seen = 0;
    for (const CheckpointHead& head : list_checkpoints(folder_)) {
        if (head.run_id != run_id_) continue;
        if (++seen > *keep_ && head.step != best_step) remove_checkpoint(head.path);
    }
}

std::vector<CheckpointHead> list_checkpoints(const fs::path& folder) {
    std::vector<CheckpointHead> heads;
    for (const fs::path& path : step_folders(folder)) {
        try {
            heads.push_back(read_head(path));
        } catch (const Error&) {  // newest_checkpoint complains about these
        }
    }
    std::stable_sort(heads.begin(), heads.end(), is_newer);
    return heads;
}

NewestCheckpoint newest_checkpoint(const fs::path& folder, const std::string& run_id) {
    NewestCheckpoint newest;
    std::vector<CheckpointHead> heads = list_checkpoints(folder);
    std::stable_partition(heads.begin(), heads.end(),
                          [&](const CheckpointHead& head) { return head.run_id == run_id; });
    for (const fs::path& path : step_folders(folder)) {
        try {
            read_head(path);
        } catch (const Error& error) {
            newest.complaints.push_back(error.what());
        }
    }
    for (const CheckpointHead& head : heads) {
        try {
            newest.checkpoint = read_checkpoint(head.path);
            return newest;
        } catch (const Error& error) {
            newest.complaints.push_back(error.what());
        }
    }
    if (!newest.complaints.empty())
        throw Error(ExitCode::kCheckpoint, "no checkpoint here is good: " + newest.complaints.front());
    return newest;
}

namespace {

Error with_last_good(const Error& error, const fs::path& checkpoint) {
    std::string good = "there is no good checkpoint beside it";
    try {
        const NewestCheckpoint newest = newest_checkpoint(checkpoint.parent_path(), {});
        if (newest.checkpoint) good = "the last good checkpoint is " + newest.checkpoint->head.path.string();
    } catch (const Error&) {  // all are damaged
    }
    return {error.code(), std::string(error.what()) + "; " + good};
}

}  // namespace

Checkpoint read_named_checkpoint(const fs::path& folder) {
    try {
        return read_checkpoint(folder);
    } catch (const Error& error) {
        throw with_last_good(error, folder);
    }
}

void check_named_weights(const fs::path& file) {
    try {
        check_weights_file(file);
    } catch (const Error& error) {
        throw with_last_good(error, file.parent_path());
    }
}

}  // namespace mpt

#include "train/run_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>

#include "core/error.h"
#include "train/durable_file.h"

namespace mpt {
namespace fs = std::filesystem;

RunDirectory::~RunDirectory() {
    if (lock_file_ >= 0) ::close(lock_file_);
}

bool RunDirectory::holds_run() const {
    return fs::exists(config()) || fs::exists(metrics()) || fs::exists(checkpoints());
}

std::string RunDirectory::run_id() const {
    const fs::path file = path_ / "run.json";
    if (!fs::exists(file)) return {};
    const auto json = nlohmann::json::parse(read_text_file(file), nullptr, false);
    if (!json.is_object() || !json.contains("run_id") || !json["run_id"].is_string()) return {};
    return json["run_id"].get<std::string>();
}

void RunDirectory::check_free() const {
    if (holds_run())
        throw Error(ExitCode::kUsage,
                    path_.string() +
                        ": holds a run already; --resume goes on with it, --overwrite starts it anew, "
                        "--output chooses another directory");
}

void RunDirectory::lock() {
    std::error_code error;
    fs::create_directories(checkpoints(), error);
    if (error)
        throw Error(ExitCode::kResource, checkpoints().string() + ": cannot create: " + error.message());
    const fs::path file = path_ / ".lock";
    lock_file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock_file_ < 0)
        throw Error(ExitCode::kResource, file.string() + ": cannot create: " + std::strerror(errno));
    if (::flock(lock_file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw Error(
            ExitCode::kUsage,
            path_.string() + ": another process is training here; wait for it or choose another --output");
}

void RunDirectory::remove_run() {
    std::error_code ignored;
    for (const fs::path& file : {metrics(), log(), config(), graph(), plan(), path_ / "run.json",
                                 path_ / "histograms.jsonl", path_ / "profile.txt", path_ / "trace.json"})
        fs::remove(file, ignored);
    std::vector<fs::path> ours;
    for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints(), ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("step-") || name == "best") ours.push_back(entry.path());
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(events(), ignored))
        if (entry.path().filename().string().starts_with("events.out.tfevents."))
            ours.push_back(entry.path());
    for (const fs::path& path : ours) fs::remove_all(path, ignored);
}

void RunDirectory::write_run_id(const std::string& id) {
    replace_file(path_ / "run.json", nlohmann::json{{"run_id", id}}.dump() + "\n");
}

fs::path run_of_checkpoint(const fs::path& given) {
    std::error_code error;
    const fs::path path = fs::canonical(given, error);
    if (error || !fs::is_directory(path)) return {};
    if (fs::exists(path / "run.json") || fs::exists(path / "checkpoints")) return path;
    const fs::path folder = path.filename() == "checkpoints" ? path : path.parent_path();
    const bool inside =
        folder.filename() == "checkpoints" && (folder == path || fs::exists(path / "manifest.json"));
    return inside ? folder.parent_path() : fs::path();
}

fs::path run_of_config(const fs::path& config) {
    std::error_code error;
    const fs::path path = fs::canonical(config, error);
    if (error || path.filename() != "config.yaml") return {};
    return run_of_checkpoint(path.parent_path());
}

std::string new_run_id() {
    std::random_device device;
    return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace mpt

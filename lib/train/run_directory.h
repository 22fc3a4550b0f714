// The directory of a run: config.yaml, metrics.jsonl, log.txt, run.json (its id) and checkpoints/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mpt {

class RunDirectory {
  public:
    explicit RunDirectory(std::filesystem::path path) : path_(std::move(path)) {}
    ~RunDirectory();  // gives the lock back
    RunDirectory(const RunDirectory&) = delete;
    RunDirectory& operator=(const RunDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
    std::filesystem::path log() const { return path_ / "log.txt"; }
    std::filesystem::path config() const { return path_ / "config.yaml"; }
    std::filesystem::path graph() const { return path_ / "graph.txt"; }
    std::filesystem::path plan() const { return path_ / "plan.txt"; }
    std::filesystem::path events() const { return path_ / "tensorboard"; }
    std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

    bool holds_run() const;
    std::string run_id() const;  // empty when there is none
    // Throws Error(kUsage) naming the directory and the options when it holds a run.
    void check_free() const;

    // Creates the directory and takes it for this process: Error(kUsage) when another one trains in it,
    // Error(kResource) when it cannot be made.
    void lock();
    // Removes the files of the run that was here, and nothing else.
    void remove_run();
    void write_run_id(const std::string& id);

  private:
    std::filesystem::path path_;
    int lock_file_ = -1;
};

std::string new_run_id();  // 16 random hex digits

// The directory of the run that wrote this config: RUN/config.yaml, RUN/checkpoints/NAME/config.yaml. Empty
// for any other file.
std::filesystem::path run_of_config(const std::filesystem::path& config);
// The same for a checkpoint in a run's directory, or that directory itself.
std::filesystem::path run_of_checkpoint(const std::filesystem::path& given);

}  // namespace mpt

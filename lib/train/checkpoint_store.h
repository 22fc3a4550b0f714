// The checkpoints of a run: <folder>/step-00000100, each complete or not there, and a link `best`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint.h"

namespace mpt {

class CheckpointStore {
  public:
    // `keep`: how many of the newest stay, the best not counted; unset: all.
    // `extras` go with each checkpoint.
    CheckpointStore(std::filesystem::path folder, std::string run_id, std::optional<std::int64_t> keep,
                    std::vector<ExtraFile> extras = {})
        : folder_(std::move(folder)), run_id_(std::move(run_id)), keep_(keep), extras_(std::move(extras)) {}

    // Removes what an interrupted save or removal left; returns how many such things there were.
    int clean_up() const;
    // Saves, then moves the link `best`, then removes what is neither among the newest nor the best. Only
    // checkpoints of this run are ever removed. Returns the path. Throws Error(kResource), older ones intact.
    std::filesystem::path save(const TrainingState& state, const StoreView& store, const std::string& config);
    std::filesystem::path path_of(std::int64_t step) const;

  private:
    void retain(std::int64_t best_step) const;
    void link_best(std::int64_t step) const;

    std::filesystem::path folder_;
    std::string run_id_;
    std::optional<std::int64_t> keep_;
    std::vector<ExtraFile> extras_;
};

// Complete checkpoints of a folder, newest first; what has no readable manifest is left out.
std::vector<CheckpointHead> list_checkpoints(const std::filesystem::path& folder);

struct NewestCheckpoint {
    std::optional<Checkpoint> checkpoint;
    std::vector<std::string> complaints;  // one line for each newer one that is damaged
};
// The newest good one, of run `run_id` if it has any. Throws Error(kCheckpoint) when there are only damaged
// ones.
NewestCheckpoint newest_checkpoint(const std::filesystem::path& folder, const std::string& run_id);

// Of a checkpoint, or a file of weights in one, that is named itself and so must be whole: Error(kCheckpoint)
// names the file at fault and the last good checkpoint beside it.
Checkpoint read_named_checkpoint(const std::filesystem::path& folder);
void check_named_weights(const std::filesystem::path& file);

}  // namespace mpt

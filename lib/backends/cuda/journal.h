// A text file that keeps what was measured, so that the next run takes the same choices without measuring: a
// line `machine<TAB>what<TAB>choice`. Other machines' lines are kept. A file that cannot be read or written
// is no failure of a run: choices are then measured anew.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/device.h"

namespace mpt::gpu {

class Journal {
  public:
    // An empty path keeps choices for this process only.
    Journal(std::string path, std::string machine);
    std::optional<std::string> find(const std::string& what) const;
    void add(const std::string& what, const std::string& choice);  // written at once

  private:
    std::string path_, machine_;
    std::map<std::string, std::string> choices_;
};

// Why a journal at that path would not be kept; empty: it will be, and its folder is there.
std::string why_not_kept(const std::string& path);

// What a choice holds for: the device, its driver and libraries, and what a run wants of them.
std::string journal_machine(const DeviceInfo& info, const DeviceSettings& settings);

// Index of the candidate to take for `what`; `candidates` name them, the heuristics' best first. `ms` times
// one, where it must; the winner goes into the journal. One that throws CallFailed is never taken, and where
// all do so it does, too. Where there is no memory to time them the first is taken, and nothing is kept.
std::size_t choose_candidate(Journal& journal, Autotune mode, const std::string& what,
                             const std::vector<std::string>& candidates,
                             const std::function<double(std::size_t)>& ms);

// Beside a library's calls a kernel of ours may be the first candidate. Why it is taken before the library is
// asked, which may compile for seconds; empty: ask it.
inline constexpr const char* kOwnCandidate = "own";
std::string why_own(const Journal& journal, Autotune mode, const std::string& what);

}  // namespace mpt::gpu

// A text file that keeps what was measured, so that the next run takes the same choices without measuring: a
// line `machine<TAB>what<TAB>choice`. Other machines' lines are kept. A file that cannot be read or written
// is no failure of a run: choices are then measured anew.
#pragma once

#include <map>
#include <optional>
#include <string>

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

}  // namespace mpt::gpu

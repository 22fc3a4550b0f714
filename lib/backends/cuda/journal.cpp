#include "backends/cuda/journal.h"

#include <fstream>

namespace mpt::gpu {

Journal::Journal(std::string path, std::string machine)
    : path_(std::move(path)), machine_(std::move(machine)) {
    if (path_.empty()) return;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
        if (second == std::string::npos || line.substr(0, first) != machine_) continue;
        choices_[line.substr(first + 1, second - first - 1)] = line.substr(second + 1);
    }
}

std::optional<std::string> Journal::find(const std::string& what) const {
    const auto found = choices_.find(what);
    return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(const std::string& what, const std::string& choice) {
    choices_[what] = choice;
    if (path_.empty()) return;
    std::ofstream file(path_, std::ios::app);
    file << machine_ << '\t' << what << '\t' << choice << '\n';
}

}  // namespace mpt::gpu

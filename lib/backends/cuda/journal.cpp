#include "backends/cuda/journal.h"

#include <algorithm>
#include <fstream>

#include "core/error.h"

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

std::string journal_machine(const DeviceInfo& info, const DeviceSettings& settings) {
    return info.name + "|" + info.driver + "|" + info.cudnn + "|" + info.cublas + "|" +
           std::to_string(settings.workspace_bytes >> 20) + " MiB" +
           (settings.deterministic ? "|deterministic" : "");
}

std::size_t choose_candidate(Journal& journal, Autotune mode, const std::string& what,
                             const std::vector<std::string>& candidates,
                             const std::function<double(std::size_t)>& ms) {
    if (mode == Autotune::kOff) return 0;
    if (const auto known = journal.find(what)) {
        const auto found = std::ranges::find(candidates, *known);
        if (found != candidates.end()) return static_cast<std::size_t>(found - candidates.begin());
    }
    if (mode == Autotune::kHeuristic) return 0;
    std::size_t best = 0;
    try {
        double best_ms = 1e30;
        for (std::size_t i = 0; candidates.size() > 1 && i < candidates.size(); ++i)
            if (const double time = ms(i); time < best_ms) best_ms = time, best = i;
    } catch (const Error& error) {
        if (error.code() != ExitCode::kResource) throw;
        return 0;
    }
    journal.add(what, candidates[best]);
    return best;
}

}  // namespace mpt::gpu

#include "backends/cuda/journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "backends/cuda/failures.h"
#include "core/error.h"

namespace mpt::gpu {

namespace {

// Opens the file for a line more; the folder is made where it does not exist.
std::ofstream opened(const std::string& path) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    errno = 0;
    return std::ofstream(path, std::ios::app);
}

}  // namespace

std::string why_not_kept(const std::string& path) {
    if (path.empty()) return "neither XDG_CACHE_HOME nor HOME is set";
    if (opened(path)) return {};
    return path + " cannot be written" + (errno == 0 ? "" : std::string(": ") + std::strerror(errno));
}

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
    std::ofstream file = opened(path_);
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
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const std::size_t count = candidates.size();
    std::size_t best = 0;
    double best_ms = kNever;
    std::string failure;
    for (std::size_t i = 0; count > 1 && i < count; ++i) {
        try {
            if (const double time = ms(i); time < best_ms) best_ms = time, best = i;
        } catch (const CallFailed& error) {
            failure = error.what();
            if (best_ms == kNever) best = i + 1;
        } catch (const InternalError& error) {
            throw InternalError(std::string(error.what()) + " (while timing candidate " +
                                std::to_string(i + 1) + " of " + std::to_string(count) + " for " + what +
                                "; autotune.mode: heuristic times none)");
        } catch (const OutOfMemory&) {
            return std::min(best, count - 1);
        }
    }
    if (best == count)
        throw CallFailed("none of " + std::to_string(count) + " candidates runs, the last: " + failure);
    journal.add(what, candidates[best]);
    return best;
}

std::string why_own(const Journal& journal, Autotune mode, const std::string& what) {
    if (mode == Autotune::kOff) return "our own kernel runs where nothing is timed (autotune.mode: off)";
    const std::optional<std::string> known = journal.find(what);
    if (known == kOwnCandidate) return "our own kernel was the faster one when both were timed";
    if (!known && mode == Autotune::kHeuristic)
        return "our own kernel runs until both were timed (autotune.mode: measure)";
    return {};
}

}  // namespace mpt::gpu

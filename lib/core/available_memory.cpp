#include "core/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace mpt {

namespace {

// Of a limit of this process alone, what a run takes beside its arena: its alignment, kernels that are
// compiled at first use, batches, checkpoints' buffers.
constexpr std::int64_t kBesideArena = 32 << 20;

std::int64_t from_meminfo() {
    std::ifstream file("/proc/meminfo");
    std::string key, unit;
    std::int64_t kib = 0;
    while (file >> key >> kib) {
        if (key == "MemAvailable:") return kib * 1024;
        std::getline(file, unit);
    }
    return std::numeric_limits<std::int64_t>::max();
}

// "max" or a number of bytes in a cgroup file; the largest number when there is none.
std::int64_t from_file(const std::string& path) {
    std::ifstream file(path);
    std::int64_t bytes = 0;
    return file >> bytes ? bytes : std::numeric_limits<std::int64_t>::max();
}

// Least limit of this process's cgroup and its parents, less what is used there.
std::int64_t from_cgroup() {
    std::ifstream file("/proc/self/cgroup");
    std::string line;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    while (std::getline(file, line)) {
        if (line.rfind("0::", 0) != 0) continue;
        for (std::string path = line.substr(3);; path = path.substr(0, path.rfind('/'))) {
            const std::string folder = "/sys/fs/cgroup" + (path == "/" ? std::string() : path);
            const std::int64_t limit = from_file(folder + "/memory.max");
            const std::int64_t used = from_file(folder + "/memory.current");
            if (limit != std::numeric_limits<std::int64_t>::max() &&
                used != std::numeric_limits<std::int64_t>::max())
                least = std::min(least, std::max<std::int64_t>(0, limit - used - kBesideArena));
            if (path.empty() || path == "/") break;
        }
    }
    return least;
}

std::int64_t from_rlimit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::numeric_limits<std::int64_t>::max();
    std::ifstream file("/proc/self/statm");
    std::int64_t pages = 0;
    file >> pages;
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - pages * 4096 - kBesideArena);
}

}  // namespace

AvailableMemory available_memory() {
    AvailableMemory memory{from_meminfo(), ""};
    const auto limit = [&](std::int64_t bytes, const char* what) {
        if (bytes < memory.bytes) memory = {bytes, what};
    };
    limit(from_cgroup(), "memory.max of the control group");
    limit(from_rlimit(), "ulimit -v");
    return memory;
}

std::string print(const AvailableMemory& memory) {
    return print_bytes(memory.bytes) + " free" +
           (memory.limited_by.empty() ? "" : " (limited by " + memory.limited_by + ")");
}

std::string print_bytes(std::int64_t bytes) {
    constexpr std::int64_t kKib = 1024, kMib = kKib * kKib, kGib = kMib * kKib;
    if (bytes < 10 * kMib && bytes % kMib != 0) return std::to_string(bytes / kKib) + " KiB";
    if (bytes < 10 * kGib) return std::to_string(bytes / kMib) + " MiB";
    return std::to_string(bytes / kGib) + " GiB";
}

}  // namespace mpt

#include "child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/error.h"

namespace mpt::app {
namespace {

std::string last_line_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string last;
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) last = line;
    constexpr const char* kPrefix = "mpt-train: ";
    return last.rfind(kPrefix, 0) == 0 ? last.substr(std::strlen(kPrefix)) : last;
}

// The most memory that a running process had resident; 0 once it has ended. What wait4() says starts at what
// this process had when it forked.
double resident_mib(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
    return 0;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, const std::filesystem::path& output,
                      const StopFlag& stop) {
    const double start = now_seconds();
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0)
        throw Error(ExitCode::kResource, output.string() + ": cannot be written: " + std::strerror(errno));
    const pid_t child = fork();
    if (child == 0) {                      // only calls that are safe after a fork
        prctl(PR_SET_PDEATHSIG, SIGTERM);  // a sweep that is killed leaves nobody behind
        dup2(file, STDOUT_FILENO);
        dup2(file, STDERR_FILENO);
        execv(program.c_str(), pointers.data());
        _exit(127);
    }
    close(file);
    if (child < 0)
        throw Error(ExitCode::kResource, std::string("a child cannot be started: ") + std::strerror(errno));
    int status = 0;
    bool told = false;
    ChildResult result;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (const double mib = resident_mib(child); mib > 0) result.peak_mib = mib;
        if (stop.asked() != 0 && !told) told = kill(child, stop.asked()) == 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.seconds = now_seconds() - start;
    result.last_line = last_line_of(output);
    return result;
}

}  // namespace mpt::app

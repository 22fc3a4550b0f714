// Runs the built command as a process of its own, its output in files.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/scratch_folder.h"

namespace mpt::test {

struct Finished {
    int exit_code = 0;  // 128 + signal when one ended it
    std::string out, err;
    std::int64_t peak_bytes = 0;  // largest resident memory
};

struct Surroundings {
    std::vector<std::string> environment = {};
    rlim_t file_size_limit = RLIM_INFINITY;  // a disk that is full after so many bytes
    std::filesystem::path input = {};        // what it reads; empty: what the test reads
};

class Process {
  public:
    Process(const std::filesystem::path& folder, std::vector<std::string> words,
            const Surroundings& surroundings = {})
        : out_(folder / "stdout"), err_(folder / "stderr") {
        words.insert(words.begin(), MPT_TRAIN);
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        child_ = fork();
        if (child_ != 0) return;
        for (const std::string& setting : surroundings.environment) putenv(strdup(setting.c_str()));
        const rlimit limit{surroundings.file_size_limit, surroundings.file_size_limit};
        if (surroundings.file_size_limit != RLIM_INFINITY) setrlimit(RLIMIT_FSIZE, &limit);
        if (!surroundings.input.empty()) dup2(open(surroundings.input.c_str(), O_RDONLY), STDIN_FILENO);
        redirect(out_, STDOUT_FILENO);
        redirect(err_, STDERR_FILENO);
        execv(argv[0], argv.data());
        _exit(127);
    }
    void signal(int number) const { kill(child_, number); }
    pid_t id() const { return child_; }
    Finished wait() {
        int status = 0;
        rusage usage{};
        wait4(child_, &status, 0, &usage);
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return {code, file_text(out_), file_text(err_), usage.ru_maxrss * 1024};
    }

  private:
    static void redirect(const std::filesystem::path& path, int to) {
        dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644), to);
    }
    std::filesystem::path out_, err_;
    pid_t child_ = -1;
};

}  // namespace mpt::test

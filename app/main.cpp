#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <sstream>
#include <system_error>

#include "command_line.h"
#include "commands.h"
#include "config/faults.h"
#include "core/error.h"
#include "stop_signals.h"

namespace {

constexpr int kInternalError = 1;

struct Command {
    std::string_view name;
    int (*run)(const std::vector<std::string>& arguments);
};
constexpr Command kCommands[] = {{"train", mpt::app::train_command},
                                 {"eval", mpt::app::eval_command},
                                 {"generate", mpt::app::generate_command},
                                 {"translate", mpt::app::translate_command},
                                 {"plan", mpt::app::plan_command},
                                 {"bench", mpt::app::bench_command},
                                 {"sweep", mpt::app::sweep_command},
                                 {"report", mpt::app::report_command},
                                 {"data", mpt::app::data_command},
                                 {"pack", mpt::app::pack_command},
                                 {"export-images", mpt::app::export_images_command},
                                 {"devices", mpt::app::devices_command},
                                 {"gemm", mpt::app::gemm_command},
                                 {"keys", mpt::app::keys_command}};

int dispatch(std::vector<std::string> words) {
    const std::string first = words.empty() ? "" : words.front();
    for (const Command& command : kCommands) {
        if (first != command.name) continue;
        words.erase(words.begin());
        return command.run(words);
    }
    return mpt::app::train_command(words);
}

int report(const std::string& text, int code) {
    mpt::app::tell(text);
    return code;
}

int report(const mpt::ConfigFaults& faults) {
    std::istringstream lines(faults.what());
    for (std::string line; std::getline(lines, line);) mpt::app::tell(line);
    return static_cast<int>(faults.code());
}

// A reader that went away (`| head`) is no failure; a full disk is.
int check_output(int code) {
    errno = 0;
    const bool flushed = std::fflush(stdout) == 0;
    const std::string reason = errno != 0 ? std::strerror(errno) : "the disk may be full";
    struct stat info {};
    const bool pipe = fstat(fileno(stdout), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
    if ((flushed && std::ferror(stdout) == 0) || pipe || code != 0) return code;
    return report("standard output cannot be written: " + reason, static_cast<int>(mpt::ExitCode::kResource));
}

// Threads share one heap where the address space is limited: one each reserves 64 MiB, and a thread that gets
// none asks the kernel for every few bytes.
void share_heap_if_limited() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

// A closed standard stream must not become a file of the run: in its place comes one that refuses, so that
// reading and printing fail by name.
void hold_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int report_system_error(const std::system_error& error) {
    if (std::ferror(stdout) != 0) return check_output(0);
    const bool scarce = error.code() == std::errc::resource_unavailable_try_again ||
                        error.code() == std::errc::not_enough_memory;
    if (!scarce) return report(std::string("internal error: ") + error.what(), kInternalError);
    return report(std::string("the system refuses a thread (") + error.what() +
                      "); raise the limits on memory (ulimit -v) and processes (ulimit -u)",
                  static_cast<int>(mpt::ExitCode::kResource));
}

}  // namespace

int main(int argc, char** argv) {
    hold_standard_streams();
    std::signal(SIGPIPE, SIG_IGN);  // `| head` must not end a run
    std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), as a full disk is
    share_heap_if_limited();
    mpt::app::catch_stop_signals("before the end");
    try {
        return check_output(dispatch({argv + 1, argv + argc}));
    } catch (const mpt::Stopped& stopped) {
        const int signal = mpt::app::work_until_asked().asked();
        return report(stopped.what() + std::string(signal == SIGTERM ? " (SIGTERM)" : " (SIGINT)"),
                      128 + signal);
    } catch (const mpt::ConfigFaults& faults) {
        return report(faults);
    } catch (const mpt::Error& error) {
        return report(error.what(), static_cast<int>(error.code()));
    } catch (const std::filesystem::filesystem_error& error) {
        return report(error.path1().string() + ": cannot be used: " + error.code().message(),
                      static_cast<int>(mpt::ExitCode::kUsage));
    } catch (const std::system_error& error) {
        return report_system_error(error);
    } catch (const std::bad_alloc&) {
        return report("out of memory; lower train.batch_size or raise train.accumulate",
                      static_cast<int>(mpt::ExitCode::kResource));
    } catch (const std::exception& error) {
        return report(std::string("internal error: ") + error.what(), kInternalError);
    }
}

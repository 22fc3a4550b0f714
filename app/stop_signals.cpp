#include "stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace mpt::app {
namespace {

// A handler can reach nothing else.
StopFlag flag;
const char* said_at_once = "";

// Only calls that a handler may make.
void say(const char* text) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void ask_to_stop(int signal) {
    if (!flag.has_work.load()) {
        say(signal == SIGTERM ? "mpt-train: stopped by SIGTERM " : "mpt-train: stopped by SIGINT ");
        say(said_at_once);
        say("\n");
        _exit(128 + signal);
    }
    int expected = 0;
    if (flag.signal.compare_exchange_strong(expected, signal)) {
        if (const char* answer = flag.answer.load(); answer != nullptr) {
            say(signal == SIGTERM ? "mpt-train: SIGTERM: " : "mpt-train: SIGINT: ");
            say(answer);
            say("\n");
        }
        return;
    }
    say("mpt-train: ended at once by a second signal, ");
    say(signal == SIGTERM ? "SIGTERM" : "SIGINT");
    say("; what was being written is not finished, what was saved before is whole\n");
    _exit(128 + signal);
}

}  // namespace

const StopFlag& catch_stop_signals(const char* before) {
    said_at_once = before;
    flag.has_work.store(false);
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    if (const int signal = flag.asked(); signal != 0)
        ask_to_stop(signal);  // nobody will look at it from here
    return flag;
}

const StopFlag& work_until_asked() {
    flag.begin_work();
    return flag;
}

AskStop stop_by_signals() {
    return ask(&work_until_asked());
}

}  // namespace mpt::app

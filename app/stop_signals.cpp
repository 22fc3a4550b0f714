#include "stop_signals.h"

#include <unistd.h>

#include <csignal>

namespace mpt::app {
namespace {

StopFlag flag;  // a handler can reach nothing else

void ask_to_stop(int signal) {
    int expected = 0;
    if (!flag.signal.compare_exchange_strong(expected, signal)) _exit(128 + signal);
}

}  // namespace

const StopFlag& catch_stop_signals() {
    struct sigaction action {};
    action.sa_handler = ask_to_stop;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return flag;
}

AskStop stop_by_signals() {
    return ask(&catch_stop_signals());
}

}  // namespace mpt::app

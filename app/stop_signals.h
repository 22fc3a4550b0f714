// Ctrl-C and SIGTERM: the first asks the run to stop, and is answered with the flag's line where there is
// one; the second ends the process at once.
#pragma once

#include "dataset/stop.h"
#include "train/stop_flag.h"

namespace mpt::app {

const StopFlag& catch_stop_signals();
// The same, as work over a data set asks; main() ends the process when such work throws Stopped.
AskStop stop_by_signals();

// Here the first one, too, ends the process at once, as long as the flag's begin_work() was not called: with
// the line "mpt-train: stopped by SIGTERM " + `before`, which must outlive the process.
const StopFlag& catch_stop_signals(const char* before);

}  // namespace mpt::app

// Ctrl-C and SIGTERM: the first asks the run to stop, the second ends the process at once.
#pragma once

#include "dataset/stop.h"
#include "train/stop_flag.h"

namespace mpt::app {

const StopFlag& catch_stop_signals();
// The same, as work over a data set asks; main() ends the process when such work throws Stopped.
AskStop stop_by_signals();

}  // namespace mpt::app

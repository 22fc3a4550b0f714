// Ctrl-C and SIGTERM: the first asks the run to stop, the second ends the process at once.
#pragma once

#include "train/stop_flag.h"

namespace mpt::app {

const StopFlag& catch_stop_signals();

}  // namespace mpt::app

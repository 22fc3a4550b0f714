// Ctrl-C and SIGTERM, for every command. As long as nothing must be put in order the first one ends the
// process at once; afterwards it asks the work to end and is answered with the flag's line where there is
// one, and the second one ends the process at once. Each says so in a line.
#pragma once

#include "dataset/stop.h"
#include "train/stop_flag.h"

namespace mpt::app {

// From here on, and until the flag's begin_work(), a signal ends the process with the line "mpt-train:
// stopped by SIGTERM " + `before`, which must outlive the process.
const StopFlag& catch_stop_signals(const char* before);

// From here on signals only ask.
const StopFlag& work_until_asked();
// The same, as work over a data set asks; main() ends the process when such work throws Stopped.
AskStop stop_by_signals();

}  // namespace mpt::app

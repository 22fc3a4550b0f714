// Independent pieces of work over a few threads.
#pragma once

#include <functional>
#include <vector>

namespace mpt {

using Job = std::function<void()>;

// Runs each job once, in their order as threads get free; the calling thread is one of `num_threads`. Fewer
// take part where the system refuses threads. Returns when all have ended; then the failure of the first job
// that failed is thrown.
void run_jobs(const std::vector<Job>& jobs, int num_threads);

}  // namespace mpt

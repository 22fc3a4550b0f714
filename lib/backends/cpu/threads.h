// Threads of the CPU backend: one OpenMP team, fixed ranges.
#pragma once

#include <cstdint>
#include <functional>

namespace mpt::cpu {

struct Range {
    std::int64_t begin = 0, end = 0;
};

// The share of thread `thread` of `count` things: contiguous, sizes differ by at most one.
constexpr Range share_of(std::int64_t count, int thread, int num_threads) {
    return {count * thread / num_threads, count * (thread + 1) / num_threads};
}

// Starts the team, so that a system that refuses threads is told of as Error(kResource) and not by the OpenMP
// library, which would end the process.
void start_threads(int num_threads);

// Runs body(thread) on `num_threads` threads and waits. An exception in any thread is rethrown here.
void run_threads(int num_threads, const std::function<void(int thread)>& body);

// Runs body(range, thread) over [0, count), split by share_of in units of `grain`.
void parallel_for(std::int64_t count, std::int64_t grain, int num_threads,
                  const std::function<void(Range range, int thread)>& body);

// The same, but a thread that is free takes the next `grain` that is left: for bodies whose results do not
// depend on the thread.
void share_out(std::int64_t count, std::int64_t grain, int num_threads,
               const std::function<void(Range range, int thread)>& body);

// Waits until all `num_threads` threads of run_threads have come here.
void barrier();

// Cores this process may use (affinity and cgroup quota respected).
int num_usable_cores();

}  // namespace mpt::cpu

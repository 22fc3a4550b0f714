#include "study/jobs.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>

namespace mpt {

void run_jobs(const std::vector<Job>& jobs, int num_threads) {
    std::vector<std::exception_ptr> failures(jobs.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t job = next++; job < jobs.size(); job = next++) try {
                jobs[job]();
            } catch (...) {
                failures[job] = std::current_exception();
            }
    };
    // Deferred is what async falls back to without threads: then get() finds nothing left to do.
    std::vector<std::future<void>> others;
    const int num_others = std::min(num_threads, static_cast<int>(jobs.size())) - 1;
    for (int t = 0; t < num_others; ++t)
        others.push_back(std::async(std::launch::async | std::launch::deferred, work));
    work();
    for (std::future<void>& other : others) other.get();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace mpt

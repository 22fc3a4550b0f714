#include "backends/cpu/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <fstream>
#include <future>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.h"

namespace mpt::cpu {

void start_threads(int num_threads) {
    if (num_threads == 1) return;
    std::vector<std::thread> probes;  // all at once, as the team is
    std::string refused;
    std::promise<void> done;
    const std::shared_future<void> end = done.get_future().share();
    try {
        for (int t = 1; t < num_threads; ++t) probes.emplace_back([end] { end.wait(); });
    } catch (const std::system_error& error) {
        refused = error.what();
    }
    done.set_value();
    for (std::thread& probe : probes) probe.join();
    if (!refused.empty())
        throw Error(ExitCode::kResource,
                    "the system refuses " + std::to_string(num_threads) + " threads (" + refused +
                        "); lower threads, or raise the limits on memory (ulimit -v) and "
                        "processes (ulimit -u)");
    run_threads(num_threads, [](int) {});
}

void run_threads(int num_threads, const std::function<void(int thread)>& body) {
    if (num_threads == 1) {
        body(0);
        return;
    }
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(num_threads));
#pragma omp parallel num_threads(num_threads)
    {
        const int thread = omp_get_thread_num();
        try {
            body(thread);
        } catch (...) {
            failures[static_cast<std::size_t>(thread)] = std::current_exception();
        }
    }
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

void parallel_for(std::int64_t count, std::int64_t grain, int num_threads,
                  const std::function<void(Range range, int thread)>& body) {
    const std::int64_t units = (count + grain - 1) / grain;
    const int threads = static_cast<int>(std::clamp<std::int64_t>(units, 1, num_threads));
    run_threads(threads, [&](int thread) {
        const Range range = share_of(units, thread, threads);
        const std::int64_t end = std::min(count, range.end * grain);
        if (range.begin * grain < end) body({range.begin * grain, end}, thread);
    });
}

void share_out(std::int64_t count, std::int64_t grain, int num_threads,
               const std::function<void(Range range, int thread)>& body) {
    const std::int64_t units = (count + grain - 1) / grain;
    std::atomic<std::int64_t> next = 0;
    run_threads(static_cast<int>(std::clamp<std::int64_t>(units, 1, num_threads)), [&](int thread) {
        for (std::int64_t unit = next++; unit < units; unit = next++)
            body({unit * grain, std::min(count, (unit + 1) * grain)}, thread);
    });
}

void barrier() {
#pragma omp barrier
}

int num_usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0) cores = std::max(1, CPU_COUNT(&set));
    std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (quota_file >> quota >> period && quota != "max" && period > 0)
        cores = std::min(cores, std::max(1, static_cast<int>(std::ceil(std::stod(quota) / period))));
    return cores;
}

}  // namespace mpt::cpu

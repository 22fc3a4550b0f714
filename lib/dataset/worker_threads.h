// Threads that share out work among themselves and end with it.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace mpt {

// Calls work(0) here and work(1), ... work(count - 1) on threads of their own, and waits for all. Where the
// system refuses a thread, the others do its share: each must take what is left to do until nothing is, and
// throw nothing.
template <class Work>
void run_workers(std::size_t count, const Work& work) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    try {
        for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work, i);
    } catch (const std::system_error&) {  // the limit on processes (ulimit -u) or on memory
    }
    work(0);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace mpt

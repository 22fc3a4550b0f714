// Work that any number of threads can share, each taking what the others have not begun.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace mpt {

// Calls work(0) here and work(1) to work(num_threads - 1) on threads of their own; fewer where the system
// refuses one. Throws what the first of them threw that failed, when all have ended.
inline void share_work(int num_threads, const std::function<void(int)>& work) {
    std::mutex mutex;
    std::exception_ptr failure;
    const auto guarded = [&](int worker) {
        try {
            work(worker);
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    try {
        for (int i = 1; i < num_threads; ++i) threads.emplace_back(guarded, i);
    } catch (const std::system_error&) {  // no memory or no number for another one
    }
    guarded(0);
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace mpt

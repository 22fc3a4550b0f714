// Work that is shared out is done, however many threads the system grants.
#include "dataset/worker_threads.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>

using namespace mpt;

namespace {

int sum_of_squares(std::size_t threads) {
    std::atomic<int> next = 0, sum = 0;
    run_workers(threads, [&](std::size_t) {
        for (int i = next++; i < 100; i = next++) sum += i * i;
    });
    return sum;
}

}  // namespace

TEST_CASE("workers do all of the work, also where the system refuses threads") {
    constexpr int kSum = 328350;  // 99 * 100 * 199 / 6
    CHECK(sum_of_squares(1) == kSum);
    CHECK(sum_of_squares(4) == kSum);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const rlimit none{0, 0};
        const bool limited = setrlimit(RLIMIT_NPROC, &none) == 0;
        // No limit holds for the superuser; another user of this number has no processes.
        const bool other = getuid() != 0 || setuid(64321) == 0;
        _exit(limited && other && sum_of_squares(4) == kSum ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

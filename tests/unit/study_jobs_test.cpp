// Jobs over threads: each once, all of them, the first failure told.
#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>

#include "study/jobs.h"

using namespace mpt;

TEST_CASE("each job runs once, on any number of threads") {
    for (const int threads : {0, 1, 2, 7}) {
        std::vector<std::atomic<int>> runs(20);
        std::vector<Job> jobs;
        for (std::atomic<int>& count : runs) jobs.push_back([&count] { ++count; });
        run_jobs(jobs, threads);
        for (const std::atomic<int>& count : runs) CHECK(count == 1);
    }
    CHECK_NOTHROW(run_jobs({}, 2));
}

TEST_CASE("of failures the first job's is thrown, and the others run all the same") {
    std::atomic<int> done = 0;
    std::vector<Job> jobs(9, [&] { ++done; });
    jobs[3] = [] { throw std::runtime_error("three"); };
    jobs[6] = [] { throw std::runtime_error("six"); };
    CHECK_THROWS_WITH(run_jobs(jobs, 3), "three");
    CHECK(done == 7);
}

// The journal of measured choices, and what a compute capability means.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "backends/cuda/failures.h"
#include "backends/cuda/generations.h"
#include "backends/cuda/journal.h"
#include "core/error.h"
#include "support/scratch_folder.h"

using namespace mpt;
using gpu::Journal;

TEST_CASE("a journal keeps choices from one process to the next, apart for each machine") {
    const test::ScratchFolder folder;
    const std::string path = (folder.path() / "journal.tsv").string();
    {
        Journal journal(path, "GPU one");
        CHECK_FALSE(journal.find("product 1x2x3").has_value());
        journal.add("product 1x2x3", "7");
        journal.add("product 1x2x3", "8");  // the later choice counts
        CHECK(journal.find("product 1x2x3") == "8");
    }
    CHECK(Journal(path, "GPU one").find("product 1x2x3") == "8");
    CHECK_FALSE(Journal(path, "GPU two").find("product 1x2x3").has_value());
}

TEST_CASE("the folder of a journal is made") {
    const test::ScratchFolder folder;
    const std::string path = (folder.path() / "cache" / "mpt-train" / "journal.tsv").string();
    Journal(path, "GPU").add("a", "b");
    CHECK(Journal(path, "GPU").find("a") == "b");
    const std::string other = (folder.path() / "other" / "journal.tsv").string();
    CHECK(gpu::why_not_kept(other).empty());
    CHECK(std::filesystem::exists(other));
}

TEST_CASE("a journal that cannot be written is no failure, and it is told why") {
    const test::ScratchFolder folder;
    const std::string file = (folder.path() / "file").string();
    std::ofstream(file) << "no folder";
    const std::string path = file + "/journal.tsv";
    CHECK(gpu::why_not_kept(path) == path + " cannot be written: Not a directory");
    CHECK(gpu::why_not_kept("") == "neither XDG_CACHE_HOME nor HOME is set");
    Journal journal(path, "GPU");
    journal.add("a", "b");
    CHECK(journal.find("a") == "b");
    Journal none("", "GPU");
    none.add("a", "c");
    CHECK(none.find("a") == "c");
}

TEST_CASE("a journal's machine is the device, its driver and libraries, and what a run wants of them") {
    gpu::DeviceInfo info;
    info.name = "GPU", info.driver = "13.0", info.cudnn = "9.19.0", info.cublas = "13.1.0";
    gpu::DeviceSettings settings;
    const std::string machine = gpu::journal_machine(info, settings);
    const auto differs = [&](auto& member, const auto& value) {
        const auto before = member;
        member = value;
        const bool other = gpu::journal_machine(info, settings) != machine;
        member = before;
        return other;
    };
    CHECK(differs(info.name, "another"));
    CHECK(differs(info.driver, "12.8"));
    CHECK(differs(info.driver, "13.0 (580.65.06)"));
    CHECK(differs(info.cudnn, "9.20.0"));
    CHECK(differs(info.cublas, "12.9.0"));
    CHECK(differs(settings.workspace_bytes, std::int64_t{1} << 20));
    CHECK(differs(settings.deterministic, !settings.deterministic));
    CHECK(gpu::journal_machine(info, settings) == machine);
}

namespace {

// Candidates a, b and c, of which b is the fastest, and which of them were timed.
struct Candidates {
    std::vector<std::string> names = {"a", "b", "c"};
    std::vector<double> times = {3, 1, 2};
    std::vector<std::size_t> timed;

    std::size_t choose(Journal& journal, gpu::Autotune mode) {
        return gpu::choose_candidate(journal, mode, "product 1x2x3", names, [&](std::size_t i) {
            timed.push_back(i);
            return times[i];
        });
    }
};

}  // namespace

TEST_CASE("autotuning off takes the first, and heuristic the journal's or the first, without timing") {
    Journal journal("", "GPU");
    Candidates candidates;
    CHECK(candidates.choose(journal, gpu::Autotune::kOff) == 0);
    CHECK(candidates.choose(journal, gpu::Autotune::kHeuristic) == 0);
    CHECK_FALSE(journal.find("product 1x2x3").has_value());
    journal.add("product 1x2x3", "c");
    CHECK(candidates.choose(journal, gpu::Autotune::kOff) == 0);
    CHECK(candidates.choose(journal, gpu::Autotune::kHeuristic) == 2);
    CHECK(candidates.timed.empty());
}

TEST_CASE("a measured choice is made once; the next process takes it from the journal, slower or not") {
    const test::ScratchFolder folder;
    const std::string path = (folder.path() / "journal.tsv").string();
    {
        Journal journal(path, "GPU");
        Candidates candidates;
        CHECK(candidates.choose(journal, gpu::Autotune::kMeasure) == 1);
        CHECK(candidates.timed == std::vector<std::size_t>{0, 1, 2});
        CHECK(candidates.choose(journal, gpu::Autotune::kMeasure) == 1);
        CHECK(candidates.timed.size() == 3);
    }
    Journal again(path, "GPU");
    Candidates candidates;
    candidates.times = {1, 3, 2};
    // Listed in another order it is the same choice.
    candidates.names = {"b", "a", "c"};
    CHECK(candidates.choose(again, gpu::Autotune::kMeasure) == 0);
    CHECK(candidates.timed.empty());
    // What the journal holds is offered no more: measured anew.
    candidates.names = {"x", "y", "z"};
    CHECK(candidates.choose(again, gpu::Autotune::kMeasure) == 0);
    CHECK(candidates.timed.size() == 3);
    CHECK(again.find("product 1x2x3") == "x");
}

TEST_CASE("where there is no memory to time candidates the first is taken, and measured another time") {
    Journal journal("", "GPU");
    const auto no_memory = [](std::size_t) -> double { throw gpu::OutOfMemory("no memory"); };
    CHECK(gpu::choose_candidate(journal, gpu::Autotune::kMeasure, "product", {"a", "b"}, no_memory) == 0);
    CHECK_FALSE(journal.find("product").has_value());
}

namespace {

// Times of candidates; one below 0 fails.
std::function<double(std::size_t)> times_or_failures(const std::vector<double>& times) {
    return [times](std::size_t i) {
        if (times[i] < 0) throw gpu::CallFailed("no kernel image");
        return times[i];
    };
}

}  // namespace

TEST_CASE("a candidate that fails while it is timed is never taken") {
    const auto chosen = [](const std::vector<double>& times) {
        Journal journal("", "GPU");
        const std::size_t best = gpu::choose_candidate(journal, gpu::Autotune::kMeasure, "product",
                                                       {"a", "b", "c"}, times_or_failures(times));
        CHECK(journal.find("product") == std::string(1, "abc"[best]));
        return best;
    };
    CHECK(chosen({-1, 3, 2}) == 2);
    CHECK(chosen({3, -1, 4}) == 0);
    CHECK(chosen({-1, -1, 5}) == 2);
    Journal journal("", "GPU");
    CHECK_THROWS_AS(gpu::choose_candidate(journal, gpu::Autotune::kMeasure, "product", {"a", "b"},
                                          times_or_failures({-1, -1})),
                    gpu::CallFailed);
    CHECK_THROWS_WITH(gpu::choose_candidate(journal, gpu::Autotune::kMeasure, "product", {"a", "b"},
                                            times_or_failures({-1, -1})),
                      "none of 2 candidates runs, the last: no kernel image");
    CHECK_FALSE(journal.find("product").has_value());
    // Memory that goes out behind a failure: the first that may run.
    const auto then_no_memory = [](std::size_t i) -> double {
        if (i == 0) throw gpu::CallFailed("no kernel image");
        throw gpu::OutOfMemory("no memory");
    };
    CHECK(gpu::choose_candidate(journal, gpu::Autotune::kMeasure, "product", {"a", "b"}, then_no_memory) ==
          1);
}

TEST_CASE("a device that is lost while candidates are timed ends the run, and it is told where") {
    Journal journal("", "GPU");
    const auto lost = [](std::size_t i) -> double {
        if (i == 0) return 1;
        throw InternalError("cudaEventSynchronize: cudaErrorIllegalAddress");
    };
    CHECK_THROWS_WITH(
        gpu::choose_candidate(journal, gpu::Autotune::kMeasure, "product 1x2x3", {"a", "b", "c"}, lost),
        Catch::Contains("cudaErrorIllegalAddress (while timing candidate 2 of 3 for product 1x2x3"));
}

TEST_CASE("computed dense peaks are those of the makers' papers at the clock that they state") {
    gpu::DeviceInfo a100;
    a100.compute_capability = 80;
    a100.num_sms = 108;
    a100.sm_clock_khz = 1410000;
    CHECK(gpu::computed_peaks(a100).f16 == Approx(312).epsilon(0.01));
    CHECK(gpu::computed_peaks(a100).tf32 == Approx(156).epsilon(0.01));
    CHECK(gpu::computed_peaks(a100).f32 == Approx(19.5).epsilon(0.01));
    CHECK(gpu::computed_peaks(a100).fp8 == 0);
    gpu::DeviceInfo h100;
    h100.compute_capability = 90;
    h100.num_sms = 132;
    h100.sm_clock_khz = 1830000;  // boost of the SXM part
    CHECK(gpu::computed_peaks(h100).bf16 == Approx(989).epsilon(0.01));
    gpu::DeviceInfo rtx3090;
    rtx3090.name = "NVIDIA GeForce RTX 3090";
    rtx3090.compute_capability = 86;
    rtx3090.num_sms = 82;
    rtx3090.sm_clock_khz = 1695000;
    CHECK(gpu::computed_peaks(rtx3090).f16 == Approx(71).epsilon(0.01));  // GA102 paper: with f32 accumulate
    CHECK(gpu::computed_peaks(rtx3090).f32 == Approx(35.6).epsilon(0.01));
    CHECK(gpu::generation_of(120) == "Blackwell");
    CHECK(gpu::generation_of(60) == "unknown");
    CHECK(gpu::tensor_formats(75) == std::vector<std::string>{"f16"});
    CHECK(gpu::tensor_formats(90) == std::vector<std::string>{"f16", "bf16", "tf32", "fp8", "2:4"});
}

TEST_CASE("a kernel of ours beside a library's is taken until the library's was timed and is faster") {
    using gpu::Autotune;
    Journal journal("", "GPU");
    const auto asked = [&](Autotune mode) { return gpu::why_own(journal, mode, "pool").empty(); };
    CHECK_FALSE(asked(Autotune::kOff));
    CHECK_FALSE(asked(Autotune::kHeuristic));
    CHECK(asked(Autotune::kMeasure));
    const std::vector<std::string> candidates = {gpu::kOwnCandidate, "0:1"};
    const auto take = [&](Autotune mode, std::vector<double> ms) {
        return gpu::choose_candidate(journal, mode, "pool", candidates, [&](std::size_t i) { return ms[i]; });
    };
    CHECK(take(Autotune::kMeasure, {1, 2}) == 0);
    CHECK(journal.find("pool") == gpu::kOwnCandidate);
    CHECK_FALSE(asked(Autotune::kHeuristic));
    CHECK_FALSE(asked(Autotune::kMeasure));  // once is enough
    journal.add("pool", "0:1");
    CHECK(asked(Autotune::kHeuristic));
    CHECK(take(Autotune::kHeuristic, {}) == 1);
    CHECK_FALSE(asked(Autotune::kOff));
    CHECK(take(Autotune::kOff, {}) == 0);
}

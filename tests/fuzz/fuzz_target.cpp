// One libFuzzer target; MPT_FUZZ is the function it calls. Built by scripts/fuzz_pictures.sh. An input that
// takes seconds of processor time is a finding, too: libFuzzer's own limit is of wall-clock time, which a
// busy machine uses up by itself.
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "support/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::clock_t kMostSeconds = 5;
    const std::clock_t begin = std::clock();
    mpt::test::MPT_FUZZ({data, size});
    if (std::clock() - begin > kMostSeconds * CLOCKS_PER_SEC) {
        std::fprintf(stderr, "ERROR: an input took more than %ld s of processor time\n",
                     static_cast<long>(kMostSeconds));
        std::abort();
    }
    return 0;
}

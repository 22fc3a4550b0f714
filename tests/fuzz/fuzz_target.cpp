// One libFuzzer target; MPT_FUZZ is the function it calls. Built by scripts/fuzz_pictures.sh.
#include "support/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mpt::test::MPT_FUZZ({data, size});
    return 0;
}

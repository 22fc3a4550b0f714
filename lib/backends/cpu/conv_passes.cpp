#include "backends/cpu/conv_passes.h"

#include "backends/cpu/instruction_set.h"
#include "core/error.h"

namespace mpt::cpu {

const ConvPasses& conv_passes() {
    const InstructionSet set = instruction_set();
    MPT_CHECK(set != InstructionSet::kBaseline, "fused convolutions need AVX2");
    return set == InstructionSet::kAvx512 ? kConvPassesAvx512 : kConvPassesAvx2;
}

}  // namespace mpt::cpu

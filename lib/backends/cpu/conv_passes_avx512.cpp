#include "backends/cpu/conv_lanes_avx512.h"
#include "backends/cpu/conv_passes_impl.h"

namespace mpt::cpu {

constinit const ConvPasses kConvPassesAvx512 = Passes<LanesAvx512>::table();

}  // namespace mpt::cpu

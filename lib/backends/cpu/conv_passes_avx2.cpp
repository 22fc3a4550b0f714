#include "backends/cpu/conv_lanes_avx2.h"
#include "backends/cpu/conv_passes_impl.h"

namespace mpt::cpu {

constinit const ConvPasses kConvPassesAvx2 = Passes<LanesAvx2>::table();

}  // namespace mpt::cpu

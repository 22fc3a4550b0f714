#include "backends/cpu/conv_lanes_avx512.h"
#include "backends/cpu/conv_winograd_impl.h"

namespace mpt::cpu {

constinit const WinogradPasses kWinogradPassesAvx512 = Winograd<LanesAvx512>::table();

}  // namespace mpt::cpu

#include "backends/cpu/conv_lanes_avx2.h"
#include "backends/cpu/conv_winograd_impl.h"

namespace mpt::cpu {

constinit const WinogradPasses kWinogradPassesAvx2 = Winograd<LanesAvx2>::table();

}  // namespace mpt::cpu

#include <libxsmm_config.h>

#include "backends/cpu/versions.h"

namespace mpt::cpu {

std::string xsmm_version() {
    return LIBXSMM_CONFIG_VERSION;
}

}  // namespace mpt::cpu

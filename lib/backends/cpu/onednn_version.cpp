#include <dnnl.hpp>

#include "backends/cpu/versions.h"

namespace mpt::cpu {

std::string onednn_version() {
    const dnnl_version_t* v = dnnl::version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace mpt::cpu

// The precision modes that a GPU runs, from its description alone.
#pragma once

#include <string>

#include "backends/cuda/device.h"
#include "config/run_config.h"

namespace mpt {

bool runs_mode(const gpu::DeviceInfo& info, PrecisionMode mode);
std::string modes_of(const gpu::DeviceInfo& info);

}  // namespace mpt

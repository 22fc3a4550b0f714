// What `mpt-train devices` tells of the devices at hand: JSON, and text made of it. README.md lists the keys.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "backends/cpu/processor.h"
#include "backends/cuda/device.h"

namespace mpt {

// `driver_release`: as NVML tells it; empty where there is none.
nlohmann::json gpu_report(const gpu::DeviceInfo& info, const std::string& driver_release);
nlohmann::json cpu_report(const cpu::Processor& processor, int usable_threads);

std::string gpu_text(const nlohmann::json& report);
std::string cpu_text(const nlohmann::json& report);

}  // namespace mpt

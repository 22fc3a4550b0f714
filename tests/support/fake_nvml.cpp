// A stand-in for the driver's NVML: one GPU whose clock falls with each reading while it throttles.
#include <cstdio>
#include <cstring>

namespace {
int readings = 0;
int gpu = 0;
}  // namespace

extern "C" {
int nvmlInit_v2() {
    readings = 0;
    return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
    return std::snprintf(text, size, "580.65.06") < static_cast<int>(size) ? 0 : 7;
}
int nvmlShutdown() {
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    *device = &gpu;
    return index == 0 ? 0 : 2;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
    *device = &gpu;
    return std::strcmp(uuid, "GPU-fake") == 0 ? 0 : 2;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
    if (device != &gpu) return 2;
    *mhz = type == 2 ? 2619U : 1980U - 90U * static_cast<unsigned>(readings);
    return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
    *mhz = 1980;
    return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
    *celsius = 60U + static_cast<unsigned>(readings);
    return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
    *milliwatts = 650500;
    return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
    *milliwatts = 700000;
    return 0;
}
// The first reading idles (no throttling), the others are at the power limit, the last one is hot, too.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
    const unsigned long long of_reading[] = {0x1, 0x4, 0x4, 0x24};
    *reasons = of_reading[readings++ % 4];
    return 0;
}
}

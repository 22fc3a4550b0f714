#include "backends/nvml/sensors.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace mpt::nvml {

namespace {

using Device = void*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1, kMemoryClock = 2;  // of nvmlClockType_t
constexpr int kGpuTemperature = 0;

struct Reason {
    std::uint64_t bit;
    const char* name;
};
constexpr std::array<Reason, 6> kReasons = {{{0x04, "power limit"},
                                             {0x08, "hardware slowdown"},
                                             {0x10, "sync boost"},
                                             {0x20, "temperature (software)"},
                                             {0x40, "temperature (hardware)"},
                                             {0x80, "power brake"}}};

// The entry of CUDA_VISIBLE_DEVICES at an index; empty where the variable is not set or has no such entry.
std::string visible(int cuda_index) {
    const char* all = std::getenv("CUDA_VISIBLE_DEVICES");
    if (all == nullptr) return {};
    std::istringstream entries(all);
    std::string entry;
    for (int i = 0; i <= cuda_index; ++i)
        if (!std::getline(entries, entry, ',')) return {};
    return entry;
}

}  // namespace

struct Sensors::Library {
    void* handle = nullptr;
    Device device = nullptr;
    bool started = false;
    int (*shutdown)() = nullptr;
    int (*clock)(Device, int type, unsigned* mhz) = nullptr;
    int (*most_clock)(Device, int type, unsigned* mhz) = nullptr;
    int (*temperature)(Device, int sensor, unsigned* celsius) = nullptr;
    int (*power)(Device, unsigned* milliwatts) = nullptr;
    int (*power_limit)(Device, unsigned* milliwatts) = nullptr;
    int (*throttle)(Device, unsigned long long* reasons) = nullptr;

    // Says why it cannot be used; empty when it can.
    std::string load(const std::string& library) {
        handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) return "NVML cannot be loaded: " + library;
        int (*start)() = nullptr;
        find(start, "nvmlInit_v2");
        find(shutdown, "nvmlShutdown");
        started = start != nullptr && start() == kSuccess;
        return started ? "" : "NVML does not start";
    }
    ~Library() {
        if (started && shutdown != nullptr) shutdown();
        if (handle != nullptr) dlclose(handle);
    }
    template <typename Function>
    void find(Function& function, const char* name) {
        function = reinterpret_cast<Function>(dlsym(handle, name));
    }
    template <typename Function, typename... Arguments>
    double ask(Function function, Arguments... arguments) const {
        unsigned value = 0;
        return function != nullptr && function(device, arguments..., &value) == kSuccess ? value : 0;
    }
};

Sensors::Sensors(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Sensors::~Sensors() = default;

std::unique_ptr<Sensors> Sensors::open(int cuda_index, std::string* reason, const std::string& library) {
    auto nvml = std::make_unique<Library>();
    *reason = nvml->load(library);
    if (!reason->empty()) return nullptr;
    int (*by_index)(unsigned, Device*) = nullptr;
    int (*by_uuid)(const char*, Device*) = nullptr;
    nvml->find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    nvml->find(by_uuid, "nvmlDeviceGetHandleByUUID");
    nvml->find(nvml->clock, "nvmlDeviceGetClockInfo");
    nvml->find(nvml->most_clock, "nvmlDeviceGetMaxClockInfo");
    nvml->find(nvml->temperature, "nvmlDeviceGetTemperature");
    nvml->find(nvml->power, "nvmlDeviceGetPowerUsage");
    nvml->find(nvml->power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    nvml->find(nvml->throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (by_index == nullptr) {
        *reason = "NVML does not start";
        return nullptr;
    }
    const std::string entry = visible(cuda_index);
    const bool uuid = entry.rfind("GPU-", 0) == 0 || entry.rfind("MIG-", 0) == 0;
    const auto index = static_cast<unsigned>(entry.empty() || uuid ? cuda_index : std::atoi(entry.c_str()));
    const int found =
        uuid && by_uuid != nullptr ? by_uuid(entry.c_str(), &nvml->device) : by_index(index, &nvml->device);
    if (found != kSuccess) {
        *reason = "NVML knows no GPU " + (entry.empty() ? std::to_string(cuda_index) : entry);
        return nullptr;
    }
    return std::unique_ptr<Sensors>(new Sensors(std::move(nvml)));
}

std::string driver_release(const std::string& library) {
    Sensors::Library nvml;
    int (*version)(char*, unsigned) = nullptr;
    std::array<char, 96> text = {};  // NVML's longest are 80
    if (!nvml.load(library).empty()) return {};
    nvml.find(version, "nvmlSystemGetDriverVersion");
    return version != nullptr && version(text.data(), text.size() - 1) == kSuccess ? text.data() : "";
}

void Sensors::read() {
    const Library& nvml = *library_;
    Reading reading;
    reading.sm_mhz = nvml.ask(nvml.clock, kSmClock);
    reading.memory_mhz = nvml.ask(nvml.clock, kMemoryClock);
    reading.temperature_c = nvml.ask(nvml.temperature, kGpuTemperature);
    reading.power_w = nvml.ask(nvml.power) / 1000;
    unsigned long long reasons = 0;
    if (nvml.throttle != nullptr && nvml.throttle(nvml.device, &reasons) == kSuccess)
        reading.throttle = reasons;
    readings_.push_back(reading);
}

Summary Sensors::summary() const {
    Summary out;
    out.readings = static_cast<std::int64_t>(readings_.size());
    out.sm_mhz_possible = library_->ask(library_->most_clock, kSmClock);
    out.power_w_limit = library_->ask(library_->power_limit) / 1000;
    if (readings_.empty()) return out;
    const auto count = static_cast<double>(readings_.size());
    out.sm_mhz_least = readings_.front().sm_mhz;
    for (const Reading& reading : readings_) {
        out.sm_mhz_mean += reading.sm_mhz / count;
        out.memory_mhz_mean += reading.memory_mhz / count;
        out.power_w_mean += reading.power_w / count;
        out.sm_mhz_least = std::min(out.sm_mhz_least, reading.sm_mhz);
        out.temperature_c_most = std::max(out.temperature_c_most, reading.temperature_c);
    }
    for (const Reason& reason : kReasons) {
        const auto times = std::ranges::count_if(
            readings_, [&](const Reading& reading) { return (reading.throttle & reason.bit) != 0; });
        if (times > 0)
            out.throttled.push_back(std::string(reason.name) + " " +
                                    std::to_string(std::lround(100.0 * static_cast<double>(times) / count)) +
                                    " %");
    }
    return out;
}

std::vector<std::string> throttle_reasons(std::uint64_t bits) {
    std::vector<std::string> names;
    for (const Reason& reason : kReasons)
        if ((bits & reason.bit) != 0) names.emplace_back(reason.name);
    return names;
}

std::string print(const Summary& s) {
    const auto whole = [](double value) { return std::to_string(std::lround(value)); };
    std::string text = "GPU over " + std::to_string(s.readings) + " readings: SM clock " +
                       whole(s.sm_mhz_mean) + " MHz (least " + whole(s.sm_mhz_least) + ", possible " +
                       whole(s.sm_mhz_possible) + "), memory " + whole(s.memory_mhz_mean) + " MHz, at most " +
                       whole(s.temperature_c_most) + " C, " + whole(s.power_w_mean) + " of " +
                       whole(s.power_w_limit) + " W; ";
    if (s.throttled.empty()) return text + "not throttled";
    text += "throttled by";
    for (const std::string& reason : s.throttled)
        text += (&reason == &s.throttled.front() ? " " : ", ") + reason + " of the time";
    return text;
}

}  // namespace mpt::nvml

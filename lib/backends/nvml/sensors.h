// Clocks, temperature, power and throttle reasons of an NVIDIA GPU, from the driver's NVML, which is loaded
// at run time: nothing is needed to build, and a machine without it just has no sensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mpt::nvml {

struct Reading {
    double sm_mhz = 0, memory_mhz = 0;
    double temperature_c = 0;
    double power_w = 0;
    std::uint64_t throttle = 0;  // bits of nvmlClocksThrottleReason*
};

// Of many readings.
struct Summary {
    std::int64_t readings = 0;
    double sm_mhz_mean = 0, sm_mhz_least = 0, sm_mhz_possible = 0, memory_mhz_mean = 0;
    double temperature_c_most = 0;
    double power_w_mean = 0, power_w_limit = 0;
    std::vector<std::string> throttled;  // reasons that lower clocks, each with its share of the readings
};
std::string print(const Summary& summary);  // one line

// The reasons that make a GPU slower than it could be; idling and clocks set by hand are not among them.
std::vector<std::string> throttle_reasons(std::uint64_t bits);

// The driver's release, as "580.65.06"; empty where NVML is not there.
std::string driver_release(const std::string& library = "libnvidia-ml.so.1");

class Sensors {
  public:
    // Of the `cuda_index`-th GPU that CUDA shows, CUDA_VISIBLE_DEVICES heeded. Null with a reason where the
    // library or the GPU is not there.
    static std::unique_ptr<Sensors> open(int cuda_index, std::string* reason,
                                         const std::string& library = "libnvidia-ml.so.1");
    ~Sensors();
    Sensors(const Sensors&) = delete;
    Sensors& operator=(const Sensors&) = delete;

    void read();  // what the GPU does not tell stays 0
    Summary summary() const;

  private:
    friend std::string driver_release(const std::string& library);
    struct Library;
    explicit Sensors(std::unique_ptr<Library> library);
    std::unique_ptr<Library> library_;
    std::vector<Reading> readings_;
};

}  // namespace mpt::nvml

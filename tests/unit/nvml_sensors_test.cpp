// Sensors of a GPU from a stand-in for NVML (tests/support/fake_nvml.cpp): values worked out by hand from it.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "backends/nvml/sensors.h"

using namespace mpt;
using nvml::Sensors;

TEST_CASE("NVML is loaded at run time, and its readings are summed up") {
    std::string reason;
    const auto sensors = Sensors::open(0, &reason, MPT_FAKE_NVML);
    REQUIRE(sensors != nullptr);
    for (int i = 0; i < 4; ++i) sensors->read();
    const nvml::Summary s = sensors->summary();
    CHECK(s.readings == 4);
    CHECK(s.sm_mhz_mean == Approx(1980 - 90 * 1.5));
    CHECK(s.sm_mhz_least == 1980 - 270);
    CHECK(s.sm_mhz_possible == 1980);
    CHECK(s.memory_mhz_mean == 2619);
    CHECK(s.temperature_c_most == 63);
    CHECK(s.power_w_mean == Approx(650.5));
    CHECK(s.power_w_limit == 700);
    CHECK(s.throttled == std::vector<std::string>{"power limit 75 %", "temperature (software) 25 %"});
    CHECK(
        nvml::print(s) ==
        "GPU over 4 readings: SM clock 1845 MHz (least 1710, possible 1980), memory 2619 MHz, at most 63 C, "
        "651 of 700 W; throttled by power limit 75 % of the time, temperature (software) 25 % of the time");
    CHECK(nvml::throttle_reasons(0x1).empty());
    CHECK(nvml::throttle_reasons(0x48) ==
          std::vector<std::string>{"hardware slowdown", "temperature (hardware)"});
}

TEST_CASE("a machine without NVML, or without that GPU, has no sensors and says why") {
    std::string reason;
    CHECK(Sensors::open(0, &reason, "libnot-there.so.1") == nullptr);
    CHECK_THAT(reason, Catch::Contains("cannot be loaded: libnot-there.so.1"));
    CHECK(Sensors::open(3, &reason, MPT_FAKE_NVML) == nullptr);
    CHECK_THAT(reason, Catch::Contains("no GPU 3"));
}

TEST_CASE("the driver tells its release") {
    CHECK(nvml::driver_release(MPT_FAKE_NVML) == "580.65.06");
    CHECK(nvml::driver_release("libnot-there.so.1").empty());
}

TEST_CASE("CUDA_VISIBLE_DEVICES says which GPU is meant") {
    std::string reason;
    setenv("CUDA_VISIBLE_DEVICES", "1,GPU-fake,0", 1);
    CHECK(Sensors::open(0, &reason, MPT_FAKE_NVML) == nullptr);
    CHECK(Sensors::open(1, &reason, MPT_FAKE_NVML) != nullptr);
    CHECK(Sensors::open(2, &reason, MPT_FAKE_NVML) != nullptr);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

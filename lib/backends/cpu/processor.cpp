#include "backends/cpu/processor.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "core/clock.h"

namespace mpt::cpu {

namespace {

void read_flags(const std::string& text, Processor& p) {
    std::istringstream words(text);
    const std::set<std::string> flags{std::istream_iterator<std::string>(words), {}};
    const auto has = [&](const char* flag) { return flags.count(flag) != 0; };
    p.avx2 = has("avx2") && has("fma");
    p.avx512 = p.avx2 && has("avx512f");
    const auto add = [&](const char* format, const char* flag, bool used) {
        if (has(flag)) p.matrix_formats.push_back({format, flag, used});
    };
    add("bf16", "avx512_bf16", true);
    add("bf16", "amx_bf16", false);
    add("f16", "avx512_fp16", false);
    add("f16", "amx_fp16", false);
}

void read_cpuinfo(const std::filesystem::path& file, Processor& p) {
    std::ifstream lines(file);
    std::set<std::pair<std::string, std::string>> cores;
    std::string package;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
        const std::string value = colon + 2 < line.size() ? line.substr(colon + 2) : "";
        if (key == "processor") ++p.threads;
        if (key == "physical id") package = value;
        if (key == "core id") cores.emplace(package, value);
        if (p.threads > 1) continue;  // the others are alike
        if (key == "model name") p.name = value;
        if (key == "vendor_id") p.vendor = value;
        if (key == "cpu family") p.family = std::atoi(value.c_str());
        if (key == "model") p.model = std::atoi(value.c_str());
        if (key == "flags") read_flags(value, p);
    }
    p.physical_cores = cores.empty() ? p.threads : static_cast<int>(cores.size());
}

// The fastest core's: they differ in hybrid processors.
double greatest_mhz(const std::filesystem::path& folder) {
    double most = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        double khz = 0;
        if (std::ifstream(entry.path() / "cpufreq/cpuinfo_max_freq") >> khz)
            most = std::max(most, 1e-3 * khz);
    }
    return most;
}

// Seconds of 100 additions a round, each waiting for the one before it: one a clock.
double chain_seconds(int rounds) {
    const double begin = now_seconds();
#if defined(__x86_64__)
    std::uint64_t sum = 0;
    const std::uint64_t step = 1;
    for (int i = 0; i < rounds; ++i) asm volatile(".rept 100\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step));
#endif
    return now_seconds() - begin;
}

// The best of several tries: others may run here.
double measured_mhz() {
#if defined(__x86_64__)
    constexpr int kRounds = 20000, kTries = 8;
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < kTries; ++i) best = std::min(best, chain_seconds(kRounds));
    return 1e-6 * 100 * kRounds / best;
#else
    return 0;
#endif
}

// 512-bit multiply-add units; AMD's Zen 4 and its mobile Zen 5 do one in two halves, Intel's smaller cores
// have one. Processors that are not known here count as their makers' usual servers.
int avx512_units(const Processor& p) {
    if (p.vendor == "AuthenticAMD") return p.family <= 25 || (p.family == 26 && p.model / 16 == 2) ? 1 : 2;
    const std::set<int> clients = {0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7};
    const bool first_scalable = p.family == 6 && p.model == 0x55;
    const bool small = first_scalable && (p.name.find("Bronze") != std::string::npos ||
                                          p.name.find("Silver") != std::string::npos);
    return (p.family == 6 && clients.count(p.model) != 0) || small ? 1 : 2;
}

// 256-bit ones: two, but the first Zens have two halves.
int avx2_units(const Processor& p) {
    return p.vendor == "AuthenticAMD" && p.family == 23 && p.model < 0x30 ? 1 : 2;
}

}  // namespace

double Processor::avx2_flops_per_clock() const {
    return avx2 ? 2.0 * 8 * avx2_units(*this) : 0;
}

double Processor::avx512_flops_per_clock() const {
    return avx512 ? 2.0 * 16 * avx512_units(*this) : 0;
}

double Processor::f32_flops_per_clock() const {
    return std::max(avx2_flops_per_clock(), avx512_flops_per_clock());
}

int Processor::cores_of(int usable_threads) const {
    return physical_cores > 0 ? std::min(physical_cores, usable_threads) : usable_threads;
}

Processor read_processor(const std::filesystem::path& root) {
    Processor p;
    read_cpuinfo(root / "proc/cpuinfo", p);
    p.mhz = greatest_mhz(root / "sys/devices/system/cpu");
    std::ifstream memory(root / "proc/meminfo");
    std::string key;
    std::int64_t kib = 0;
    if (memory >> key >> kib && key == "MemTotal:") p.memory_bytes = kib * 1024;
    return p;
}

Processor this_processor() {
    Processor p = read_processor();
    if (p.mhz == 0) {
        p.mhz = measured_mhz();
        p.measured_mhz = p.mhz > 0;
    }
    return p;
}

}  // namespace mpt::cpu

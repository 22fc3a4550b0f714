#include "forecast/gpu.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "core/error.h"

namespace mpt {

namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

// Fields of one line; quotes keep commas.
std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            fields.emplace_back();
        else if (c != '\r')
            fields.back() += c;
    }
    return fields;
}

std::string plain(std::string_view name) {
    std::string text;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

// The short names people say; a family's name alone means its usual data-centre part.
std::vector<std::string> aliases_of(const std::string& name) {
    static const std::map<std::string, std::vector<std::string>> kAliases = {
        {"V100-SXM2", {"V100", "V100-16GB", "V100-SXM2-16GB"}},
        {"V100-SXM2-32GB", {"V100-32GB"}},
        {"T4", {"Tesla-T4"}},
        {"RTX2080Ti-FE", {"RTX2080Ti", "2080Ti"}},
        {"A100-SXM4-40GB", {"A100-40GB"}},
        {"A100-SXM4-80GB", {"A100", "A100-80GB"}},
        {"A10", {"A10-24GB"}},
        {"RTX3090", {"3090"}},
        {"L4", {"L4-24GB"}},
        {"L40S", {"L40S-48GB"}},
        {"RTX4090", {"4090"}},
        {"H100-SXM5", {"H100", "H100-SXM", "H100-80GB"}},
        {"H100-PCIe", {"H100-PCIe-80GB"}},
        {"H200-SXM", {"H200"}},
        {"B200-HGX", {"B200"}},
        {"RTX5090", {"5090"}},
    };
    const auto found = kAliases.find(name);
    return found == kAliases.end() ? std::vector<std::string>() : found->second;
}

double number(const std::string& text) {
    return std::strtod(text.c_str(), nullptr);
}

// Columns of the csv.
enum : std::size_t { kName, kCc, kSms, kClock, kMemory, kBandwidth, kFormat, kFma, kComputed, kPublished };

Gpu gpu_of(const std::vector<std::string>& fields) {
    Gpu gpu;
    gpu.name = fields[kName];
    const std::size_t dot = fields[kCc].find('.');
    gpu.major = std::atoi(fields[kCc].substr(0, dot).c_str());
    gpu.minor = std::atoi(fields[kCc].substr(dot + 1).c_str());
    gpu.num_sms = std::atoi(fields[kSms].c_str());
    gpu.clock_mhz = number(fields[kClock]);
    // Vendors' GB of a card are GiB but for the part that error correction and firmware keep.
    gpu.memory_bytes = static_cast<std::int64_t>(number(fields[kMemory]) * static_cast<double>(kGib));
    gpu.bandwidth = number(fields[kBandwidth]) * 1e9;
    gpu.note = fields.back();
    gpu.aliases = aliases_of(gpu.name);
    return gpu;
}

}  // namespace

std::string_view name_of(ComputeFormat format) {
    switch (format) {
        case ComputeFormat::kF32:
            return "f32";
        case ComputeFormat::kTf32:
            return "tf32";
        case ComputeFormat::kF16:
            return "f16";
        case ComputeFormat::kBf16:
            return "bf16";
        case ComputeFormat::kFp8:
            return "fp8";
    }
    return "?";
}

std::string Gpu::generation() const {
    if (major == 7) return minor < 5 ? "Volta" : "Turing";
    if (major == 8) return minor < 9 ? "Ampere" : "Ada";
    return major == 9 ? "Hopper" : "Blackwell";
}

double Gpu::peak(ComputeFormat format) const {
    const auto of = [&](const char* word) {
        const auto found = tflops.find(word);
        return found == tflops.end() ? 0.0 : found->second * 1e12;
    };
    switch (format) {
        case ComputeFormat::kF32:
            return of("fp32_cuda");
        case ComputeFormat::kTf32:
            return of("tf32");
        case ComputeFormat::kF16:
            return of("fp16");
        case ComputeFormat::kBf16:
            return of("bf16");
        case ComputeFormat::kFp8:
            return of("fp8");
    }
    return 0;
}

std::string Gpu::device_properties() const {
    struct Generation {
        int capability, l2_mib, shared_kib, ctas, threads;
    };
    // CUDA C++ Programming Guide, technical specifications per compute capability; L2 of the usual part.
    constexpr Generation kGenerations[] = {
        {70, 6, 96, 32, 2048},  {75, 4, 64, 16, 1024},   {80, 40, 163, 32, 2048},   {86, 6, 99, 16, 1536},
        {89, 96, 99, 24, 1536}, {90, 60, 227, 32, 2048}, {100, 126, 227, 32, 2048}, {120, 96, 99, 24, 1536}};
    Generation own = kGenerations[0];
    for (const Generation& generation : kGenerations)
        if (generation.capability <= major * 10 + minor) own = generation;
    const auto number = [](const char* key, std::int64_t value) {
        return ",\"" + std::string(key) + "\":" + std::to_string(value);
    };
    std::string text = "{\"deviceVer\":" + std::to_string(major * 100 + minor * 10);
    text += number("driverVer", 13000) + number("cudaDeviceId", 0);
    text += ",\"deviceName\":\"NVIDIA " + name + "\",\"maxGridSize\":[2147483647,65535,65535]";
    text += ",\"maxBlockSize\":[1024,1024,64]" + number("regsPerBlock", 65536);
    text += number("multiProcessorCount", num_sms);
    text += number("smClockRateKHz", static_cast<std::int64_t>(clock_mhz) * 1000);
    text += number("memClockRateKHz", 1593000) + number("l2CacheSize", std::int64_t{own.l2_mib} << 20);
    text += number("warpSize", 32) + number("maxSharedMemoryPerBlock", 49152);
    text += number("maxSharedMemoryPerBlockOptin", std::int64_t{own.shared_kib} << 10);
    text +=
        number("reservedSharedMemoryPerBlock", major >= 8 ? 1024 : 0) + number("maxRegistersPerSM", 65536);
    text += number("pciDeviceId", 0) + number("maxCtasPerSM", own.ctas) + number("maxThreadsPerBlock", 1024);
    text +=
        number("maxThreadsPerSM", own.threads) + number("isTccDriver", 0) + number("supportCoopLaunch", 1);
    return text + number("totalGlobalMem", memory_bytes) + number("cudnnVersion", 91900) + "}";
}

std::int64_t Gpu::usable_bytes() const {
    return memory_bytes - memory_bytes / 50 - 3 * kGib / 4;
}

std::vector<Gpu> parse_gpu_table(std::string_view csv) {
    std::vector<Gpu> table;
    std::istringstream lines{std::string(csv)};
    std::string line;
    std::getline(lines, line);  // the header
    while (std::getline(lines, line)) {
        const std::vector<std::string> fields = fields_of(line);
        if (fields.size() <= kPublished) continue;
        if (table.empty() || table.back().name != fields[kName]) table.push_back(gpu_of(fields));
        table.back().tflops[fields[kFormat]] = number(fields[kComputed]);
    }
    // A row with two sizes of memory is two cards; the plain name is the smaller one.
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (table[i].name != "V100-SXM2") continue;
        Gpu larger = table[i];
        larger.name = "V100-SXM2-32GB";
        larger.memory_bytes = 32 * kGib;
        larger.aliases = aliases_of(larger.name);
        table.insert(table.begin() + static_cast<std::ptrdiff_t>(i) + 1, larger);
        break;
    }
    return table;
}

const std::vector<Gpu>& gpu_table() {
    static const std::vector<Gpu> table = parse_gpu_table(kGpuTableText);
    return table;
}

namespace {

const Gpu* known_gpu(std::string_view name) {
    for (const Gpu& gpu : gpu_table()) {
        if (plain(gpu.name) == plain(name)) return &gpu;
        for (const std::string& alias : gpu.aliases)
            if (plain(alias) == plain(name)) return &gpu;
    }
    return nullptr;
}

}  // namespace

const Gpu* gpu_of_driver(std::string_view name) {
    std::string whole, without_memory;
    std::istringstream words{std::string(name)};
    for (std::string word; words >> word;) {
        const std::string text = plain(word);
        if (text == "nvidia" || text == "tesla" || text == "geforce") continue;
        whole += word + ' ';
        // "H100 80GB HBM3" is the SXM part. What remains of "H100 NVL" or of a MIG slice is no row's name.
        const bool size = std::isdigit(static_cast<unsigned char>(text[0])) != 0 && text.ends_with("gb");
        if (!size && !text.starts_with("hbm")) without_memory += word + ' ';
    }
    const Gpu* gpu = known_gpu(whole);
    return gpu != nullptr ? gpu : known_gpu(without_memory);
}

const Gpu& find_gpu(std::string_view name) {
    if (const Gpu* gpu = known_gpu(name); gpu != nullptr) return *gpu;
    std::string known;
    for (const Gpu& gpu : gpu_table()) known += (known.empty() ? "" : ", ") + gpu.name;
    throw Error(ExitCode::kUsage, "no GPU '" + std::string(name) + "' in the table; there are " + known);
}

}  // namespace mpt

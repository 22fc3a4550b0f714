#include "plan/memory_report.h"

#include <array>
#include <cstdio>

namespace mpt {

namespace {

std::string mib(std::int64_t bytes) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%10.2f MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
    return text.data();
}

}  // namespace

std::string print(const MemoryReport& report) {
    std::string text = "memory plan\n";
    const auto line = [&](const char* what, std::int64_t bytes) {
        text += "  ";
        text += what;
        text += mib(bytes) + "\n";
    };
    line("weights (masters)      ", report.weights_bytes);
    if (report.narrow_bytes != 0) line("weights (narrow copy)  ", report.narrow_bytes);
    line("gradients              ", report.gradients_bytes);
    line("optimizer              ", report.optimizer_bytes);
    line("statistics and control ", report.statistics_bytes);
    line("activations at peak    ", report.activations_bytes);
    line("largest workspace      ", report.workspace_bytes);
    line("arena = peak           ", report.arena_bytes);
    line("data set and batches   ", report.host_bytes);
    return text;
}

}  // namespace mpt

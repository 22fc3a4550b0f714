// Rates of matrix products: what the machine gives, per precision and way.
#include <fmt/core.h>

#include <algorithm>

#include "backends/cpu/processor.h"
#include "backends/cpu/threads.h"
#include "command_line.h"
#include "commands.h"
#include "core/error.h"
#include "study/gemm_rates.h"

namespace mpt::app {

namespace {

GemmSize size_of_text(const std::string& text) {
    GemmSize s;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%ldx%ldx%ld%c", &s.m, &s.n, &s.k, &rest) != 3 || s.m < 1 || s.n < 1 ||
        s.k < 1 || std::max({s.m, s.n, s.k}) > 65536)
        throw Error(ExitCode::kUsage,
                    "--sizes " + text + ": sizes are MxNxK from 1 to 65536, e.g. 4096x4096x4096");
    return s;
}

void print_header(const std::string& device) {
    fmt::print("{}\n{:<20} {:<6} {:<22} {:>10} {:>10} {:>8}\n", device, "m x n x k", "type", "way", "ms",
               "TFLOP/s", "of peak");
}

// How many results were wrong: 0 or 1.
int print_row(const GemmSize& s, const GemmRate& rate) {
    const std::string size = fmt::format("{}x{}x{}", s.m, s.n, s.k);
    const std::string& sentence = rate.refusal.empty() ? rate.fault : rate.refusal;
    if (!sentence.empty())
        fmt::print("{:<20} {:<6} {:<22} {}\n", size, rate.precision, rate.way, sentence);
    else
        fmt::print("{:<20} {:<6} {:<22} {:>10.3f} {:>10.3f} {:>8}\n", size, rate.precision, rate.way, rate.ms,
                   rate.tflops, rate.share > 0 ? fmt::format("{:.0f} %", 100 * rate.share) : "-");
    return rate.fault.empty() ? 0 : 1;
}

int run_on_gpu(gpu::Device& device, const std::vector<GemmSize>& sizes) {
    // The fastest that there is, found anew: not what an earlier run with other settings wrote down.
    gpu::DeviceSettings settings;
    settings.autotune = gpu::Autotune::kMeasure;
    settings.deterministic = false;
    device.set(settings);
    const DevicePeaks peaks = peaks_of(device.info());
    print_header(fmt::format("{}; dense peaks at {:.0f} MHz: {}", device.info().name, peaks.clock_mhz,
                             peaks.source()));
    int wrong = 0;
    for (const GemmSize& s : sizes)
        for (const gpu::GemmVariant& variant : gpu::gemm_variants(device, s.m, s.n, s.k))
            wrong += print_row(s, gpu_gemm_rate(device, variant, peaks));
    return wrong;
}

int run_on_cpu(const std::vector<GemmSize>& sizes) {
    const int threads = cpu::num_usable_cores();
    const cpu::Processor processor = cpu::this_processor();
    const int cores = processor.cores_of(threads);
    const double peak = processor.f32_gflops(processor.f32_flops_per_clock(), cores);
    print_header(
        fmt::format("{}, {} threads; f32 peak, computed: {:.0f} GFLOP/s ({} cores x {:.0f} MHz x {:.0f}); "
                    "emulated: stored narrow, arithmetic is wider",
                    processor.name, threads, peak, cores, processor.mhz, processor.f32_flops_per_clock()));
    int wrong = 0;
    for (const GemmSize& s : sizes)
        for (const GemmRate& rate : cpu_gemm_rates(s, threads, 1e-3 * peak)) wrong += print_row(s, rate);
    return wrong;
}

}  // namespace

int gemm_command(const std::vector<std::string>& arguments) {
    CLI::App app("Measures matrix products of pseudo-random numbers, TFLOP/s per precision.",
                 "mpt-train gemm");
    app.footer(
        "On a GPU: cuBLASLt with the fastest of its algorithms, a kernel of our own on Tensor Cores (wmma) "
        "and one on "
        "plain cores, with their shares of the dense peak that `mpt-train devices` tells. On a CPU: the "
        "kernels of "
        "training; f32 with its share of the computed peak, and formats that are emulated. Results are "
        "checked: a "
        "wrong one is told instead of its rate, and the exit code is 1.");
    std::vector<std::string> sizes;
    std::string where = "auto";
    app.add_option("--sizes", sizes, "MxNxK,... (default: 1024x1024x1024 on a CPU, 8192x8192x8192 on a GPU)")
        ->delimiter(',');
    app.add_option("--device", where, "auto, cpu or cuda")->check(CLI::IsMember({"auto", "cpu", "cuda"}));
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const bool on_gpu = where == "cuda" || (where == "auto" && gpu::count_devices().count > 0);
    const std::unique_ptr<gpu::Device> device = on_gpu ? gpu::open_device(0) : nullptr;
    if (sizes.empty()) sizes = {on_gpu ? "8192x8192x8192" : "1024x1024x1024"};
    std::vector<GemmSize> parsed;
    for (const std::string& text : sizes) parsed.push_back(size_of_text(text));
    return (on_gpu ? run_on_gpu(*device, parsed) : run_on_cpu(parsed)) == 0 ? 0 : 1;
}

}  // namespace mpt::app

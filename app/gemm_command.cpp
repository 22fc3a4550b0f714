// Rates of matrix products: what the machine gives, per precision and way.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "backends/cpu/threads.h"
#include "backends/cuda/gemm_variants.h"
#include "command_line.h"
#include "commands.h"
#include "core/clock.h"
#include "core/error.h"
#include "forecast/device_peaks.h"
#include "graph/kernel.h"
#include "ops/linear/linear.h"

namespace mpt::app {

namespace {

struct Size {
    std::int64_t m = 0, n = 0, k = 0;
};

Size size_of_text(const std::string& text) {
    Size s;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%ldx%ldx%ld%c", &s.m, &s.n, &s.k, &rest) != 3 || s.m < 1 || s.n < 1 ||
        s.k < 1 || std::max({s.m, s.n, s.k}) > 65536)
        throw Error(ExitCode::kUsage,
                    "--sizes " + text + ": sizes are MxNxK from 1 to 65536, e.g. 4096x4096x4096");
    return s;
}

double seconds_of(const std::function<void()>& work) {
    const double begin = now_seconds();
    work();
    return now_seconds() - begin;
}

// The median of several runs, after one that warms up; at most about a second in all.
double median_seconds(const std::function<void()>& work) {
    std::vector<double> times;
    work();
    double total = 0;
    while (times.size() < 3 || (times.size() < 20 && total < 1)) {
        times.push_back(seconds_of(work));
        total += times.back();
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

void print_header() {
    fmt::print("{:<20} {:<6} {:<22} {:>10} {:>10} {:>8}\n", "m x n x k", "type", "way", "ms", "TFLOP/s",
               "of peak");
}

void print_row(const Size& s, const std::string& precision, const std::string& way, double seconds,
               double peak) {
    const double tflops =
        2e-12 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) / seconds;
    fmt::print("{:<20} {:<6} {:<22} {:>10.3f} {:>10.3f} {:>8}\n", fmt::format("{}x{}x{}", s.m, s.n, s.k),
               precision, way, seconds * 1e3, tflops,
               peak > 0 ? fmt::format("{:.0f} %", 100 * tflops / peak) : "-");
}

void measure_cpu(const Size& s) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        Signature call;
        call.op = &linear_op;
        call.attributes = LinearAttributes{};
        call.num_threads = cpu::num_usable_cores();
        cpu::start_threads(call.num_threads);
        call.inputs = {{{s.m, s.k}, dtype}, {{s.n, s.k}, dtype}, {}};
        call.present = {true, true, false};
        call.outputs = linear_op.infer(call.attributes, call.inputs);
        const PreparedKernel kernel = choose_kernel(cpu_kernels(), call, nullptr)->prepare(call);
        std::vector<std::vector<float>> memory;
        std::vector<void*> in, out;
        const auto add = [&](std::int64_t bytes, std::vector<void*>& to) {
            // One more than 64 bytes to align in.
            memory.emplace_back(static_cast<std::size_t>(bytes) / sizeof(float) + 32);
            const auto address = (reinterpret_cast<std::uintptr_t>(memory.back().data()) + 63) / 64 * 64;
            to.push_back(reinterpret_cast<void*>(address));
        };
        for (int i = 0; i < 2; ++i) add(call.inputs[static_cast<std::size_t>(i)].bytes(), in);
        in.push_back(nullptr);
        add(call.outputs[0].bytes(), out);
        std::vector<void*> scratch;
        add(static_cast<std::int64_t>(kernel.workspace_bytes), scratch);
        const double seconds = median_seconds([&] { kernel.run({in, out, scratch[0]}); });
        print_row(s, std::string(name_of(dtype)), dtype == DType::f32 ? "cpu" : "cpu, stored only", seconds,
                  0);
    }
}

void measure_gpu(gpu::Device& device, const Size& s) {
    const gpu::Peaks peaks = peaks_of(device.info()).tflops;
    const auto peak_of = [&](const gpu::GemmVariant& v) {
        if (v.name == "cuda cores" || v.precision == "fp32") return peaks.f32;
        if (v.precision == "fp8") return peaks.fp8;
        return v.precision == "tf32" ? peaks.tf32 : v.precision == "bf16" ? peaks.bf16 : peaks.f16;
    };
    for (const gpu::GemmVariant& v : gpu::gemm_variants(device, s.m, s.n, s.k)) {
        if (!v.run) {
            fmt::print("{:<20} {:<6} {:<22} {}\n", fmt::format("{}x{}x{}", s.m, s.n, s.k), v.precision,
                       v.name, v.refusal);
            continue;
        }
        const auto bytes = [](std::int64_t elements, DType type) {
            return static_cast<std::size_t>(elements) * size_of(type);
        };
        const gpu::Memory a(device, bytes(s.m * s.k, v.spec.input)),
            b(device, bytes(s.k * s.n, v.spec.input));
        const gpu::Memory d(device, bytes(s.m * s.n, v.spec.output)), workspace(device, v.workspace_bytes);
        device.fill_zero(a.data(), a.bytes());
        device.fill_zero(b.data(), b.bytes());
        const auto begin = device.make_event(), end = device.make_event();
        const gpu::ProductArgs args{a.data(), b.data(), d.data(), nullptr, workspace.data()};
        v.run(args);
        begin->record();
        constexpr int kRuns = 20;
        for (int i = 0; i < kRuns; ++i) v.run(args);
        end->record();
        end->wait();
        print_row(s, v.precision, v.name, end->ms_since(*begin) / kRuns / 1e3, peak_of(v));
    }
}

}  // namespace

int gemm_command(const std::vector<std::string>& arguments) {
    CLI::App app("Measures matrix products, TFLOP/s per precision.", "mpt-train gemm");
    std::vector<std::string> sizes;
    std::string where = "auto";
    app.add_option("--sizes", sizes, "MxNxK,... (default: 1024x1024x1024 on a CPU, 8192x8192x8192 on a GPU)")
        ->delimiter(',');
    app.add_option("--device", where, "auto, cpu or cuda")->check(CLI::IsMember({"auto", "cpu", "cuda"}));
    if (parse(app, arguments) == Parsed::kHelpShown) return 0;
    const bool on_gpu = where == "cuda" || (where == "auto" && gpu::count_devices().count > 0);
    std::unique_ptr<gpu::Device> device = on_gpu ? gpu::open_device(0) : nullptr;
    if (sizes.empty()) sizes = {on_gpu ? "8192x8192x8192" : "1024x1024x1024"};
    std::vector<Size> parsed;
    for (const std::string& text : sizes) parsed.push_back(size_of_text(text));
    fmt::print("{}\n", on_gpu ? device->info().name
                              : fmt::format("CPU, {} threads; narrow types are stored, arithmetic is f32",
                                            cpu::num_usable_cores()));
    print_header();
    for (const Size& size : parsed) on_gpu ? measure_gpu(*device, size) : measure_cpu(size);
    return 0;
}

}  // namespace mpt::app

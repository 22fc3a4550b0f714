#include "study/gemm_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/threads.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/float_formats.h"
#include "core/philox.h"
#include "graph/kernel.h"
#include "ops/linear/linear.h"
#include "ops/linear_fp8/linear_fp8.h"

namespace mpt {

namespace {

constexpr std::int64_t kPeriod = 1048573;  // a prime: no two rows are alike
constexpr int kRuns = 20;
constexpr int kChecked = 64;  // places of a result

template <typename T>
void append(std::vector<std::byte>& bytes, T bits) {
    const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(bits);
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

// Appends the bytes of a value and returns what they stand for.
float append_rounded(std::vector<std::byte>& bytes, DType type, float value) {
    switch (type) {
        case DType::f16:
            append(bytes, f16_bits(value));
            return f16_value(f16_bits(value));
        case DType::bf16:
            append(bytes, bf16_bits(value));
            return bf16_value(bf16_bits(value));
        case DType::e4m3:
            append(bytes, e4m3_bits(value));
            return e4m3_value(e4m3_bits(value));
        default:
            MPT_CHECK(type == DType::f32);
            append(bytes, value);
            return value;
    }
}

float value_of(DType type, const std::byte* bytes) {
    std::uint16_t half = 0;
    float whole = 0;
    if (type == DType::f32) std::memcpy(&whole, bytes, sizeof whole);
    if (type != DType::f32) std::memcpy(&half, bytes, sizeof half);
    return type == DType::f32 ? whole : type == DType::f16 ? f16_value(half) : bf16_value(half);
}

// What is known of a product: d[m,n] = a[m,k] b, b [k,n] or [n,k].
struct Checked {
    GemmSize size;
    const GemmOperand &a, &b;
    bool transposed_b = false;
    bool rounds_inputs = false;  // tf32; fp8 keeps fewer bits of sums
    DType result = DType::f32;
};

// `read` gives the bytes of d's element at an index. Empty when every looked-at one is near its sum in f64.
std::string fault_of(const Checked& c, const std::function<void(std::int64_t, std::byte*)>& read) {
    RandomStream places(7, RandomPurpose::kSample, 0);
    // Of the sum of magnitudes: two operands cut to 10 bits, or sums in f32; of the result: its rounding.
    const double of_sums = c.rounds_inputs ? 0x1p-9 : 0x1p-14;
    const double of_result = c.result == DType::f32 ? 0x1p-22 : c.result == DType::f16 ? 0x1p-10 : 0x1p-7;
    for (int place = 0; place < kChecked; ++place) {
        const bool last = place == 0;
        const auto below = [&](std::int64_t count) {
            return last ? count - 1 : static_cast<std::int64_t>(places.next_u64() >> 1) % count;
        };
        const std::int64_t row = below(c.size.m), column = below(c.size.n);
        double sum = 0, magnitudes = 0;
        for (std::int64_t i = 0; i < c.size.k; ++i) {
            const double product = static_cast<double>(c.a.value(row * c.size.k + i)) *
                                   static_cast<double>(c.b.value(c.transposed_b ? column * c.size.k + i
                                                                                : i * c.size.n + column));
            sum += product;
            magnitudes += std::abs(product);
        }
        std::array<std::byte, sizeof(float)> bytes = {};
        read(row * c.size.n + column, bytes.data());
        const double found = static_cast<double>(value_of(c.result, bytes.data()));
        // Also where it is no number.
        if (!(std::abs(found - sum) <= of_sums * magnitudes + of_result * std::abs(sum)))
            return fmt::format("wrong: d[{}, {}] is {:.6g}, not {:.6g}", row, column, found, sum);
    }
    return {};
}

void set_rate(GemmRate& rate, const GemmSize& s, double seconds, double peak) {
    rate.ms = 1e3 * seconds;
    rate.tflops =
        2e-12 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) / seconds;
    rate.share = peak > 0 ? rate.tflops / peak : 0;
}

// Whole periods, and what is left.
template <typename Copy>
void fill(const GemmOperand& operand, std::int64_t elements, const Copy& copy) {
    const std::size_t size = size_of(operand.type());
    for (std::int64_t at = 0; at < elements; at += kPeriod)
        copy(static_cast<std::size_t>(at) * size, operand.block().data(),
             static_cast<std::size_t>(std::min(kPeriod, elements - at)) * size);
}

double peak_of(const gpu::GemmVariant& v, const DevicePeaks& peaks) {
    if (v.name == "cuda cores" || v.precision == "fp32") return peaks.of(ComputeFormat::kF32);
    if (v.precision == "fp8") return peaks.of(ComputeFormat::kFp8);
    if (v.precision == "tf32") return peaks.of(ComputeFormat::kTf32);
    return peaks.of(v.precision == "bf16" ? ComputeFormat::kBf16 : ComputeFormat::kF16);
}

struct Freed {
    void operator()(std::byte* memory) const { std::free(memory); }
};
using LinedUp = std::unique_ptr<std::byte, Freed>;  // to 64 bytes

LinedUp allocate(std::size_t bytes) {
    LinedUp memory(static_cast<std::byte*>(std::aligned_alloc(64, (bytes / 64 + 1) * 64)));
    if (memory == nullptr)
        throw Error(
            ExitCode::kResource,
            fmt::format("gemm: no {} MiB of memory for a matrix; ask for smaller --sizes", bytes >> 20));
    return memory;
}

// The median of several runs, after one that warms up; at most about a second in all.
double median_seconds(const std::function<void()>& work) {
    std::vector<double> times;
    double total = 0;
    work();
    while (times.size() < 3 || (times.size() < kRuns && total < 1)) {
        const double begin = now_seconds();
        work();
        times.push_back(now_seconds() - begin);
        total += times.back();
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
}

Signature linear_call(const GemmSize& s, DType type, int num_threads) {
    Signature call;
    call.num_threads = num_threads;
    call.inputs = {{{s.m, s.k}, type}, {{s.n, s.k}, type}};
    if (is_fp8(type)) {
        call.op = &linear_fp8_op;
        call.attributes = LinearFp8Attributes{DType::bf16};
        for (int i = 0; i < 2; ++i) call.inputs.push_back({{}, DType::f32});  // scales
    } else {
        call.op = &linear_op;
        call.attributes = LinearAttributes{};
    }
    call.present.assign(call.inputs.size(), true);
    call.inputs.emplace_back();  // no bias
    call.present.push_back(false);
    call.outputs = call.op->infer(call.attributes, call.inputs);
    return call;
}

GemmRate cpu_gemm_rate(const GemmSize& s, DType type, int num_threads) {
    const Signature call = linear_call(s, type, num_threads);
    const PreparedKernel kernel = choose_kernel(cpu_kernels(), call, nullptr)->prepare(call);
    const GemmOperand of_a(type, 1), of_b(type, 2);
    const auto filled = [](const GemmOperand& operand, std::int64_t elements) {
        LinedUp memory = allocate(static_cast<std::size_t>(elements) * size_of(operand.type()));
        fill(operand, elements, [&](std::size_t at, const std::byte* from, std::size_t bytes) {
            std::memcpy(memory.get() + at, from, bytes);
        });
        return memory;
    };
    const LinedUp a = filled(of_a, s.m * s.k), b = filled(of_b, s.n * s.k);
    const DType result = call.outputs[0].dtype;
    const std::size_t element = size_of(result);
    const LinedUp d = allocate(static_cast<std::size_t>(s.m * s.n) * element);
    const LinedUp workspace = allocate(kernel.workspace_bytes);
    float one = 1;
    std::vector<void*> in = {a.get(), b.get()}, out = {d.get()};
    if (is_fp8(type)) in.insert(in.end(), {&one, &one});
    in.push_back(nullptr);
    GemmRate rate;
    rate.precision = type == DType::f32 ? "fp32" : is_fp8(type) ? "fp8" : std::string(name_of(type));
    rate.way = type == DType::f32                                ? "cpu"
               : type == DType::bf16 && cpu::has_bf16_products() ? "cpu, avx512_bf16"
                                                                 : "cpu, emulated";
    const double seconds = median_seconds([&] { kernel.run({in, out, workspace.get()}); });
    set_rate(rate, s, seconds, 0);
    const Checked checked{s, of_a, of_b, true, is_fp8(type), result};
    rate.fault = fault_of(checked, [&](std::int64_t index, std::byte* to) {
        std::memcpy(to, d.get() + static_cast<std::size_t>(index) * element, element);
    });
    return rate;
}

}  // namespace

GemmOperand::GemmOperand(DType type, std::uint64_t seed) : type_(type) {
    RandomStream random(seed, RandomPurpose::kSample, 1);
    values_.reserve(static_cast<std::size_t>(kPeriod));
    bytes_.reserve(static_cast<std::size_t>(kPeriod) * size_of(type));
    for (std::int64_t i = 0; i < kPeriod; ++i)
        values_.push_back(append_rounded(bytes_, type, 2 * random.uniform() - 1));
}

float GemmOperand::value(std::int64_t index) const {
    return values_[static_cast<std::size_t>(index % kPeriod)];
}

GemmRate gpu_gemm_rate(gpu::Device& device, const gpu::GemmVariant& v, const DevicePeaks& peaks) {
    GemmRate rate;
    rate.precision = v.precision;
    rate.way = v.name;
    rate.refusal = v.refusal;
    if (!v.run) return rate;
    const GemmSize s = {v.spec.m, v.spec.n, v.spec.k};
    const DType type = v.spec.fp8 == gpu::Fp8::kNone ? v.spec.input : DType::e4m3;
    const GemmOperand of_a(type, 1), of_b(type, 2);
    const auto filled = [&](const GemmOperand& operand, std::int64_t elements) {
        gpu::Memory memory(device, static_cast<std::size_t>(elements) * size_of(type));
        fill(operand, elements, [&](std::size_t at, const std::byte* from, std::size_t bytes) {
            device.copy(memory.data() + at, from, bytes);
        });
        return memory;
    };
    const gpu::Memory a = filled(of_a, s.m * s.k), b = filled(of_b, s.k * s.n);
    const std::size_t element = size_of(v.spec.output);
    const gpu::Memory d(device, static_cast<std::size_t>(s.m * s.n) * element);
    const gpu::Memory workspace(device, v.workspace_bytes);
    device.fill_zero(d.data(), d.bytes());
    const auto begin = device.make_event(), end = device.make_event();
    gpu::ProductArgs args;
    args.a = a.data(), args.b = b.data(), args.d = d.data(), args.workspace = workspace.data();
    v.run(args);
    begin->record();
    for (int i = 0; i < kRuns; ++i) v.run(args);
    end->record();
    end->wait();
    device.synchronize();
    set_rate(rate, s, end->ms_since(*begin) / kRuns / 1e3, peak_of(v, peaks));
    const Checked checked{
        s, of_a, of_b, v.spec.transposed_b, v.spec.tf32 || type == DType::e4m3, v.spec.output};
    rate.fault = fault_of(checked, [&](std::int64_t index, std::byte* to) {
        device.copy(to, d.data() + static_cast<std::size_t>(index) * element, element);
        device.synchronize();
    });
    return rate;
}

std::vector<GemmRate> cpu_gemm_rates(const GemmSize& size, int num_threads, double peak_tflops) {
    cpu::start_threads(num_threads);
    std::vector<GemmRate> rates;
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::e4m3})
        rates.push_back(cpu_gemm_rate(size, type, num_threads));
    rates.front().share = peak_tflops > 0 ? rates.front().tflops / peak_tflops : 0;
    return rates;
}

}  // namespace mpt

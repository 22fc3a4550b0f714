// Rates of matrix products on a device that is plain memory and a clock that each product moves by 2 ms, and
// on this CPU: what the operands are, and that a wrong result is noticed.
#include "study/gemm_rates.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>

#include "core/float_formats.h"

using namespace mpt;

namespace {

double clock_ms = 0;

class PlainEvent final : public gpu::Event {
  public:
    void record() override { at_ = clock_ms; }
    void wait() override {}
    void order_after() override {}
    double ms_since(const gpu::Event& earlier) override {
        return at_ - dynamic_cast<const PlainEvent&>(earlier).at_;
    }

  private:
    double at_ = 0;
};

class PlainDevice final : public gpu::Device {
  public:
    PlainDevice() : gpu::Device({}) {}
    std::byte* allocate(std::size_t bytes) override { return new std::byte[bytes]; }
    void release(std::byte* memory) override { delete[] memory; }
    std::byte* allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
    void release_pinned(std::byte* memory) override { release(memory); }
    std::int64_t free_bytes() override { return 1 << 30; }
    void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
    void fill_zero(void* to, std::size_t bytes) override { std::memset(to, 0, bytes); }
    void synchronize() override {}
    std::unique_ptr<gpu::Event> make_event() override { return std::make_unique<PlainEvent>(); }
    std::unique_ptr<gpu::Recording> capture(const std::function<void()>&) override { return nullptr; }
    gpu::Planned<gpu::ProductArgs> plan_product(const gpu::ProductSpec&) override { return {}; }
    gpu::Planned<gpu::ConvolutionArgs> plan_convolution(const gpu::ConvolutionSpec&) override { return {}; }
    gpu::Planned<gpu::AttentionArgs> plan_attention(const gpu::AttentionSpec&) override { return {}; }
};

float read(DType type, const void* from, std::int64_t index) {
    const auto* bytes = static_cast<const std::byte*>(from) + static_cast<std::size_t>(index) * size_of(type);
    float whole = 0;
    std::uint16_t half = 0;
    if (type == DType::e4m3) return e4m3_value(static_cast<std::uint8_t>(*bytes));
    if (type == DType::f32) std::memcpy(&whole, bytes, sizeof whole);
    if (type != DType::f32) std::memcpy(&half, bytes, sizeof half);
    return type == DType::f32 ? whole : type == DType::f16 ? f16_value(half) : bf16_value(half);
}

void write(DType type, void* to, std::int64_t index, float value) {
    auto* bytes = static_cast<std::byte*>(to) + static_cast<std::size_t>(index) * size_of(type);
    const std::uint16_t half = type == DType::f16 ? f16_bits(value) : bf16_bits(value);
    if (type == DType::f32) std::memcpy(bytes, &value, sizeof value);
    if (type != DType::f32) std::memcpy(bytes, &half, sizeof half);
}

DType operand_of(const gpu::ProductSpec& s) {
    return s.fp8 == gpu::Fp8::kNone ? s.input : DType::e4m3;
}

void multiply(const gpu::ProductSpec& s, const gpu::ProductArgs& args) {
    for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
            float sum = 0;
            for (std::int64_t k = 0; k < s.k; ++k)
                sum += read(operand_of(s), args.a, i * s.k + k) *
                       read(operand_of(s), args.b, s.transposed_b ? j * s.k + k : k * s.n + j);
            write(s.output, args.d, i * s.n + j, sum);
        }
    clock_ms += 2;
}

gpu::GemmVariant variant(const std::string& precision, DType type) {
    gpu::GemmVariant v;
    v.name = "loops";
    v.precision = precision;
    v.spec.m = 24, v.spec.n = 20, v.spec.k = 40;
    v.spec.input = v.spec.output = type;
    if (precision == "fp8") v.spec.fp8 = gpu::Fp8::kE4m3, v.spec.transposed_b = true;
    v.run = [spec = v.spec](const gpu::ProductArgs& args) { multiply(spec, args); };
    return v;
}

DevicePeaks peaks() {
    gpu::DeviceInfo info;
    info.name = "NVIDIA H100 80GB HBM3";
    info.num_sms = 132;
    return peaks_of(info);
}

}  // namespace

TEST_CASE("a product's rate follows from its size, its share from the peak of its format") {
    PlainDevice device;
    const std::map<std::string, DType> storage = {
        {"fp32", DType::f32}, {"f16", DType::f16}, {"bf16", DType::bf16}, {"fp8", DType::bf16}};
    const std::map<std::string, double> table = {
        {"fp32", 61.8}, {"f16", 989.4}, {"bf16", 989.4}, {"fp8", 1978.9}};
    const double tflops = 2.0 * 24 * 20 * 40 / 2e-3 * 1e-12;
    for (const auto& [precision, type] : storage) {
        CAPTURE(precision);
        const GemmRate rate = gpu_gemm_rate(device, variant(precision, type), peaks());
        CHECK(rate.fault.empty());
        CHECK(rate.ms == Approx(2));
        CHECK(rate.tflops == Approx(tflops));
        CHECK(rate.share == Approx(tflops / table.at(precision)));
    }
    gpu::GemmVariant plain = variant("f16", DType::f16);
    plain.name = "cuda cores";
    CHECK(gpu_gemm_rate(device, plain, peaks()).share == Approx(tflops / 61.8));
}

TEST_CASE(
    "operands are pseudo-random: spread over (-1, 1), without zeros but for rounding, no row like another") {
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::e4m3}) {
        CAPTURE(name_of(type));
        const GemmOperand operand(type, 1), other(type, 2);
        double sum = 0, squares = 0;
        std::int64_t beyond = 0, misread = 0, zeros = 0, equal = 0, like_other = 0;
        constexpr std::int64_t kCount = 4096 * 16;
        for (std::int64_t i = 0; i < kCount; ++i) {
            const auto value = static_cast<double>(operand.value(i));
            beyond += std::abs(value) <= 1 ? 0 : 1;
            misread += read(type, operand.block().data(), i) == operand.value(i) ? 0 : 1;
            sum += value;
            squares += value * value;
            zeros += value == 0 ? 1 : 0;
            equal += operand.value(i) == operand.value(i + 4096) ? 1 : 0;
            like_other += operand.value(i) == other.value(i) ? 1 : 0;
        }
        CHECK(beyond == 0);
        CHECK(misread == 0);
        CHECK(std::abs(sum / kCount) < 0.01);
        CHECK(squares / kCount == Approx(1.0 / 3).epsilon(0.02));  // of an even distribution
        CHECK(zeros < kCount / 500);
        CHECK(equal < kCount / 20);
        CHECK(like_other < kCount / 20);
        CHECK(operand.value(1 << 20) == operand.value((1 << 20) - 1048573));  // the period
    }
}

TEST_CASE("a wrong product is told, whatever its precision") {
    PlainDevice device;
    for (const auto& [precision, type] : std::map<std::string, DType>{{"fp32", DType::f32},
                                                                      {"tf32", DType::f32},
                                                                      {"f16", DType::f16},
                                                                      {"bf16", DType::bf16},
                                                                      {"fp8", DType::bf16}}) {
        CAPTURE(precision);
        gpu::GemmVariant v = variant(precision, type);
        v.spec.tf32 = precision == "tf32";
        v.run = [](const gpu::ProductArgs&) {};
        CHECK_THAT(gpu_gemm_rate(device, v, peaks()).fault, Catch::Contains("wrong: d[23, 19] is 0, not"));
        v.run = [spec = v.spec](const gpu::ProductArgs& args) {
            gpu::ProductArgs swapped = args;
            swapped.a = args.b;
            swapped.b = args.a;
            multiply(spec, swapped);
        };
        CHECK_THAT(gpu_gemm_rate(device, v, peaks()).fault, Catch::Contains("wrong"));
        v.run = [spec = v.spec](const gpu::ProductArgs& args) {
            multiply(spec, args);
            for (std::int64_t j = 0; j < spec.m * spec.n; ++j) write(spec.output, args.d, j, NAN);
        };
        CHECK_THAT(gpu_gemm_rate(device, v, peaks()).fault, Catch::Contains("nan"));
    }
}

TEST_CASE("what does not run keeps its reason") {
    PlainDevice device;
    gpu::GemmVariant v = variant("f16", DType::f16);
    v.run = nullptr;
    v.refusal = "takes multiples of 64 x 64 x 32";
    const GemmRate rate = gpu_gemm_rate(device, v, peaks());
    CHECK(rate.refusal == "takes multiples of 64 x 64 x 32");
    CHECK(rate.ms == 0);
}

TEST_CASE(
    "on a CPU f32 has a share of the computed peak, and formats without instructions are called emulated") {
    const std::vector<GemmRate> rates = cpu_gemm_rates({33, 48, 64}, 1, 0.1);
    REQUIRE(rates.size() == 4);
    for (const GemmRate& rate : rates) {
        CAPTURE(rate.precision);
        CHECK(rate.fault.empty());
        CHECK(rate.tflops > 0);
        CHECK(rate.ms > 0);
    }
    CHECK(rates[0].precision == "fp32");
    CHECK(rates[0].way == "cpu");
    CHECK(rates[0].share == Approx(rates[0].tflops / 0.1));
    CHECK(rates[1].precision == "f16");
    CHECK(rates[1].way == "cpu, emulated");
    CHECK(rates[2].precision == "bf16");
    CHECK(rates[3].precision == "fp8");
    CHECK(rates[3].way == "cpu, emulated");
    for (std::size_t i = 1; i < 4; ++i) CHECK(rates[i].share == 0);
}

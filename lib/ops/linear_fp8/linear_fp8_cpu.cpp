#include <array>

#include "backends/cpu/matmul.h"
#include "core/float_formats.h"
#include "ops/linear_fp8/linear_fp8.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// fp8 is emulated: every e4m3 and e5m2 number is a bf16 number, and so is it times a power of two.
constexpr DType kWidened = DType::bf16;

struct Widened {
    std::int64_t elements;
    DType from;
    std::size_t bytes() const { return (static_cast<std::size_t>(elements) * sizeof(bf16) + 63) / 64 * 64; }
    void widen(const void* q, float scale, bf16* to, int num_threads) const {
        std::array<bf16, 256> values;
        for (std::size_t bits = 0; bits < values.size(); ++bits) {
            const auto byte = static_cast<std::uint8_t>(bits);
            values[bits] = bf16((from == DType::e4m3 ? e4m3_value(byte) : e5m2_value(byte)) * scale);
        }
        const auto* bytes = static_cast<const std::uint8_t*>(q);
        cpu::parallel_for(elements, simd::kGrain, num_threads, [&](cpu::Range range, int) {
            for (std::int64_t i = range.begin; i < range.end; ++i) to[i] = values[bytes[i]];
        });
    }
};

template <int buffer>
PreparedKernel prepare(const Signature& s) {
    const TensorType &a = s.in(buffer), &b = s.in(buffer + 1);
    cpu::MatmulSpec spec{.m = a.shape[0], .n = b.shape[0], .k = a.shape[1]};
    spec.a = {kWidened, false, Pointwise::kIdentity};
    spec.b = {kWidened, true, Pointwise::kIdentity};
    spec.c = s.out(0).dtype;
    spec.accumulate = buffer == 1;
    spec.bias = buffer == 0 && s.has(4);
    const Widened of_a{a.shape.num_elements(), a.dtype}, of_b{b.shape.num_elements(), b.dtype};
    const auto run = [spec, of_a, of_b, num_threads = s.num_threads](const KernelArgs& args) {
        auto* workspace = static_cast<std::byte*>(args.workspace);
        auto* wide_a = reinterpret_cast<bf16*>(workspace);
        auto* wide_b = reinterpret_cast<bf16*>(workspace + of_a.bytes());
        // Scales are powers of two: in an operand or behind the sum comes to the same.
        of_a.widen(args.in<void>(buffer), *args.in<float>(buffer + 2) * *args.in<float>(buffer + 3), wide_a,
                   num_threads);
        of_b.widen(args.in<void>(buffer + 1), 1.0f, wide_b, num_threads);
        cpu::matmul(spec,
                    {.a = wide_a,
                     .b = wide_b,
                     .c = args.out<void>(0),
                     .bias = spec.bias ? args.in<float>(4) : nullptr,
                     .workspace = workspace + of_a.bytes() + of_b.bytes()},
                    num_threads);
    };
    return {run, of_a.bytes() + of_b.bytes() + cpu::matmul_workspace_bytes(spec, s.num_threads),
            "fp8 emulated by " + cpu::matmul_description(spec)};
}

}  // namespace

void register_linear_fp8_cpu(KernelTable& table) {
    table.add({linear_fp8_op.name, "emulated", simd::refusal, prepare<0>});
    table.add({linear_fp8_accumulate_op.name, "emulated", simd::refusal, prepare<1>});
}

}  // namespace mpt

#include <bit>
#include <cstdint>

#include "graph/kernel.h"
#include "ops/all_finite/all_finite.h"

namespace mpt {

namespace {

// A loop that compilers turn into vectors: an exponent of all ones is infinite or NaN.
bool finite(const float* data, std::int64_t elements) {
    constexpr std::uint32_t kExponent = 0x7f800000U;
    std::uint32_t bad = 0;
    for (std::int64_t i = 0; i < elements; ++i)
        bad |= (std::bit_cast<std::uint32_t>(data[i]) & kExponent) == kExponent ? 1U : 0U;
    return bad == 0;
}

std::string refusal(const Signature& s) {
    for (const TensorType& input : s.inputs)
        if (input.dtype != DType::f32) return "f32 only";
    return {};
}

PreparedKernel prepare(const Signature& s) {
    std::vector<std::int64_t> elements;
    for (const TensorType& input : s.inputs) elements.push_back(input.shape.num_elements());
    return {[elements](const KernelArgs& a) {
                bool all = true;
                for (std::size_t i = 0; i < elements.size(); ++i)
                    all = finite(a.in<float>(static_cast<int>(i)), elements[i]) && all;
                a.out<std::int32_t>(0)[0] = all ? 1 : 0;
            },
            0, "integer"};
}

}  // namespace

void register_all_finite_cpu(KernelTable& table) {
    table.add({all_finite_op.name, "simd", refusal, prepare});
}

}  // namespace mpt

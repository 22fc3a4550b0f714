// Element types. The words f32 f16 bf16 tf32 e4m3 e5m2 are used everywhere: YAML, dumps, logs, tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mpt {

// f64 exists for oracles in tests only. tf32 is no storage type: it is f32 storage with a compute mode.
enum class DType : std::uint8_t { f64, f32, f16, bf16, i32, u8, e4m3, e5m2 };

constexpr std::size_t size_of(DType type) {
    switch (type) {
        case DType::f64:
            return 8;
        case DType::f32:
        case DType::i32:
            return 4;
        case DType::f16:
        case DType::bf16:
            return 2;
        case DType::u8:
        case DType::e4m3:
        case DType::e5m2:
            return 1;
    }
    return 0;
}

constexpr bool is_float(DType type) {
    return type != DType::i32 && type != DType::u8;
}
constexpr bool is_narrow(DType type) {
    return type == DType::f16 || type == DType::bf16;
}

// Operands of products only, each tensor with a scale of its own.
constexpr bool is_fp8(DType type) {
    return type == DType::e4m3 || type == DType::e5m2;
}

std::string_view name_of(DType type);
std::optional<DType> dtype_named(std::string_view name);

}  // namespace mpt

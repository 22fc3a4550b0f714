#include "core/dtype.h"

#include <array>

namespace mpt {

namespace {
constexpr std::array<std::pair<DType, std::string_view>, 8> kNames = {{
    {DType::f64, "f64"},
    {DType::f32, "f32"},
    {DType::f16, "f16"},
    {DType::bf16, "bf16"},
    {DType::i32, "i32"},
    {DType::u8, "u8"},
    {DType::e4m3, "e4m3"},
    {DType::e5m2, "e5m2"},
}};
}  // namespace

std::string_view name_of(DType type) {
    for (const auto& [t, name] : kNames)
        if (t == type) return name;
    return "?";
}

std::optional<DType> dtype_named(std::string_view name) {
    for (const auto& [type, n] : kNames)
        if (n == name) return type;
    return std::nullopt;
}

}  // namespace mpt

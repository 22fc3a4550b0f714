// Element access for reference kernels: any storage type, read and written as f64. Slow and obvious on
// purpose.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/float_formats.h"
#include "graph/kernel.h"
#include "graph/op.h"

namespace mpt::reference {

inline double load(const void* data, DType type, std::int64_t index) {
    switch (type) {
        case DType::f64:
            return static_cast<const double*>(data)[index];
        case DType::f32:
            return static_cast<double>(static_cast<const float*>(data)[index]);
        case DType::f16:
            return static_cast<double>(static_cast<float>(static_cast<const f16*>(data)[index]));
        case DType::bf16:
            return static_cast<double>(static_cast<float>(static_cast<const bf16*>(data)[index]));
        case DType::i32:
            return static_cast<double>(static_cast<const std::int32_t*>(data)[index]);
        case DType::u8:
            return static_cast<double>(static_cast<const std::uint8_t*>(data)[index]);
        case DType::e4m3:
            return static_cast<double>(static_cast<float>(static_cast<const e4m3*>(data)[index]));
        case DType::e5m2:
            return static_cast<double>(static_cast<float>(static_cast<const e5m2*>(data)[index]));
    }
    return 0;
}

inline void store(void* data, DType type, std::int64_t index, double value) {
    switch (type) {
        case DType::f64:
            static_cast<double*>(data)[index] = value;
            break;
        case DType::f32:
            static_cast<float*>(data)[index] = static_cast<float>(value);
            break;
        case DType::f16:
            static_cast<f16*>(data)[index] = f16(static_cast<float>(value));
            break;
        case DType::bf16:
            static_cast<bf16*>(data)[index] = bf16(static_cast<float>(value));
            break;
        case DType::i32:
            static_cast<std::int32_t*>(data)[index] = static_cast<std::int32_t>(value);
            break;
        case DType::u8:
            static_cast<std::uint8_t*>(data)[index] = static_cast<std::uint8_t>(value);
            break;
        case DType::e4m3:
            static_cast<e4m3*>(data)[index] = e4m3(static_cast<float>(value));
            break;
        case DType::e5m2:
            static_cast<e5m2*>(data)[index] = e5m2(static_cast<float>(value));
            break;
    }
}

// A tensor of a kernel's arguments with its type: x(i), y.set(i, v).
struct Tensor {
    void* data = nullptr;
    TensorType type = {};
    double operator()(std::int64_t index) const { return load(data, type.dtype, index); }
    void set(std::int64_t index, double value) const { store(data, type.dtype, index, value); }
    std::int64_t size() const { return type.shape.num_elements(); }
    std::int64_t dim(std::int64_t index) const { return type.shape[index]; }
    explicit operator bool() const { return data != nullptr; }
    // All elements, for loops that read each of them many times.
    std::vector<double> values() const {
        std::vector<double> all(static_cast<std::size_t>(size()));
        for (std::int64_t i = 0; i < size(); ++i) all[static_cast<std::size_t>(i)] = (*this)(i);
        return all;
    }
};

inline Tensor input(const Signature& s, const KernelArgs& a, int index) {
    return {a.inputs[static_cast<std::size_t>(index)], s.in(index)};
}
inline Tensor output(const Signature& s, const KernelArgs& a, int index) {
    return {a.outputs[static_cast<std::size_t>(index)], s.out(index)};
}

// Registers `body` as the reference of an op.
using Body = void (*)(const Signature&, const KernelArgs&);
template <Body body>
Kernel kernel(const OpType& op) {
    return {
        op.name, "ref", nullptr, [](const Signature& signature) {
            return PreparedKernel{[signature](const KernelArgs& args) { body(signature, args); }, 0, "ref"};
        }};
}

}  // namespace mpt::reference

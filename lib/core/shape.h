// Static shapes. Row-major: the last dimension is contiguous. Images are NHWC, weights of convolutions OHWI
// (in files OIHW), matrices of linear layers [out, in].
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace mpt {

class Shape {
  public:
    Shape() = default;  // a scalar
    Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
    explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

    std::int64_t rank() const { return static_cast<std::int64_t>(dims_.size()); }
    // Negative indices count from the end: shape[-1] is the contiguous dimension.
    std::int64_t operator[](std::int64_t index) const;
    std::int64_t num_elements() const;
    const std::vector<std::int64_t>& dims() const { return dims_; }
    bool operator==(const Shape&) const = default;

  private:
    std::vector<std::int64_t> dims_;
};

// "[128x28x28x16]"; a scalar is "[]".
std::string to_string(const Shape& shape);

}  // namespace mpt

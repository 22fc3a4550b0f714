#include "core/shape.h"

#include "core/error.h"

namespace mpt {

std::int64_t Shape::operator[](std::int64_t index) const {
    if (index < 0) index += rank();
    MPT_CHECK(index >= 0 && index < rank(), "dimension " + std::to_string(index) + " of " + to_string(*this));
    return dims_[static_cast<std::size_t>(index)];
}

std::int64_t Shape::num_elements() const {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims_) count *= dim;
    return count;
}

std::string to_string(const Shape& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.dims().size(); ++i) {
        if (i != 0) text += 'x';
        text += std::to_string(shape.dims()[i]);
    }
    return text + "]";
}

}  // namespace mpt

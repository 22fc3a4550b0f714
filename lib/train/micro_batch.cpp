#include "train/micro_batch.h"

namespace mpt {

std::string to_string(const BatchShape& shape) {
    std::string text = std::to_string(shape.rows);
    if (shape.source_length > 0)
        return text + "x" + std::to_string(shape.source_length) + "->" + std::to_string(shape.length);
    return shape.length > 0 ? text + "x" + std::to_string(shape.length) : text;
}

}  // namespace mpt

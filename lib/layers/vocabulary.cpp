#include "layers/vocabulary.h"

namespace mpt {

std::int64_t padded_vocabulary(std::int64_t vocabulary) {
    const std::int64_t unit = vocabulary >= 16384 ? 128 : 64;
    return (vocabulary + unit - 1) / unit * unit;
}

ValueId vocabulary_table(GraphBuilder& builder, std::int64_t vocabulary, std::int64_t width, Initializer init,
                         const std::string& name) {
    const std::int64_t rows = padded_vocabulary(vocabulary);
    return builder.parameter(name + ".weight", {rows, width}, Role::kEmbedding, init,
                             {.rows = rows == vocabulary ? 0 : vocabulary});
}

}  // namespace mpt

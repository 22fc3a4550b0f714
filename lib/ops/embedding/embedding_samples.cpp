#include "ops/embedding/embedding.h"
#include "ops/samples.h"

namespace mpt {

void register_embedding_samples(SampleTable& table) {
    struct Extent {
        Shape ids;
        std::int64_t rows, width;
    };
    for (const auto& [ids_shape, rows, width] :
         {Extent{{1}, 1, 1}, Extent{{3, 5}, 4, 7}, Extent{{2, 40}, 9, 33}, Extent{{4, 6}, 300, 64},
          Extent{{700}, 3, 16}, Extent{{2300}, 40, 8}}) {
        const std::string name = to_string(ids_shape) + " in " + to_string(Shape{rows, width});
        const SampleInput ids{ids_shape, 0, static_cast<double>(rows - 1), SampleInput::Kind::kIndices};
        std::vector<std::int64_t> dims = ids_shape.dims();
        dims.push_back(width);
        for (const std::int64_t padding : {std::int64_t{-1}, rows / 2}) {
            table.add({name, &embedding_op, EmbeddingAttributes{padding}, {ids, {{rows, width}}}});
            Sample backward{name,
                            &embedding_backward_op,
                            EmbeddingBackwardAttributes{rows, padding},
                            {{Shape(dims)}, ids}};
            backward.reduction_length = ids_shape.num_elements();
            table.add(backward);
            Sample accumulated{name,
                               &embedding_backward_accumulate_op,
                               EmbeddingBackwardAttributes{rows, padding},
                               {{{rows, width}, -1, 1, SampleInput::Kind::kWide}, {Shape(dims)}, ids}};
            accumulated.reduction_length = ids_shape.num_elements();
            table.add(accumulated);
        }
    }
}

}  // namespace mpt

#include "ops/batch_norm_fold/batch_norm_fold.h"
#include "ops/samples.h"

namespace mpt {

void register_batch_norm_fold_samples(SampleTable& table) {
    using Kind = SampleInput::Kind;
    for (const std::int64_t channels : {1, 13, 64}) {
        const std::string name = to_string(Shape{channels});
        const SampleInput vector{{channels}, -2, 2, Kind::kWide};
        const SampleInput positive{{channels}, 0.5, 2, Kind::kWide};
        // Sums and sums of squares in [2, 3] over 8 values: a variance in [0.1, 0.32].
        const SampleInput statistics{{2, channels}, 2, 3, Kind::kWide};
        table.add(
            {name, &batch_norm_fold_op, BatchNormFoldAttributes{1e-5, 8}, {statistics, vector, vector}});
        table.add({name,
                   &batch_norm_inference_fold_op,
                   BatchNormInferenceFoldAttributes{1e-3},
                   {vector, vector, vector, positive}});
        for (const int row : {1, 2}) {
            const SampleInput sums{{1 + row, channels}, -5, 5, Kind::kWide};
            table.add({name + " row=" + std::to_string(row),
                       &batch_norm_backward_fold_op,
                       BatchNormBackwardFoldAttributes{50, row},
                       {sums, vector, vector, positive}});
        }
    }
}

}  // namespace mpt

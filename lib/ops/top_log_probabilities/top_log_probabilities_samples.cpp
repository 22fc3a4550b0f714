#include "ops/samples.h"
#include "ops/top_log_probabilities/top_log_probabilities.h"

namespace mpt {

void register_top_log_probabilities_samples(SampleTable& table) {
    struct Case {
        Shape shape;
        std::int64_t count, vocabulary;
    };
    for (const Case& c : {Case{{3, 1}, 1, 0}, Case{{2, 5}, 5, 0}, Case{{4, 33}, 3, 0}, Case{{5, 64}, 10, 57},
                          Case{{2, 1280}, 1, 1200}, Case{{2, 1280}, 128, 1203}}) {
        Sample sample{to_string(c.shape),
                      &top_log_probabilities_op,
                      TopLogProbabilitiesAttributes{c.count, c.vocabulary},
                      {{c.shape, -8, 8}}};
        sample.reduction_length = c.shape[1];
        table.add(sample);
        // Few different values: ties at every place, in every block of lanes.
        SampleInput ties{c.shape};
        for (std::int64_t i = 0; i < c.shape.num_elements(); ++i)
            ties.values.push_back(static_cast<double>(i * 7 % 11) * 0.5);
        sample.name += " ties";
        sample.inputs = {ties};
        table.add(sample);
    }
}

}  // namespace mpt

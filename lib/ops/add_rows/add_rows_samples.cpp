#include "ops/add_rows/add_rows.h"
#include "ops/samples.h"

namespace mpt {

void register_add_rows_samples(SampleTable& table) {
    for (const Shape& x : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{2, 4, 64}, Shape{130, 2, 9}})
        for (const std::int64_t more : {0, 3}) {
            const std::int64_t rows = x[1] + more;
            const std::string name = to_string(x) + " of " + std::to_string(rows);
            table.add({name, &add_rows_op, {}, {{x}, {{rows, x[2]}}}});
            Sample backward{name, &add_rows_backward_op, AddRowsBackwardAttributes{rows}, {{x}}};
            backward.reduction_length = x[0];
            table.add(backward);
        }
}

}  // namespace mpt

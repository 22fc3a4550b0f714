// top_log_probabilities: z[M,V] -> logp[M,k], indices i32 [M,k]: the k greatest of log_softmax(z) in each
// row, falling, and where they stand. Of equal ones the lower index comes first. Only the first `vocabulary`
// columns are classes. A row with a NaN has NaN for all its log-probabilities. No gradient: for decoding.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct TopLogProbabilitiesAttributes {
    std::int64_t count = 1;       // k
    std::int64_t vocabulary = 0;  // 0: all columns
    bool operator==(const TopLogProbabilitiesAttributes&) const = default;
};
std::string print(const TopLogProbabilitiesAttributes& attributes);

extern const OpType top_log_probabilities_op;

struct TopLogProbabilitiesOutputs {
    ValueId log_probabilities, indices;
};
// Throws unless 1 <= count <= the number of classes.
TopLogProbabilitiesOutputs top_log_probabilities(GraphBuilder& builder, ValueId z,
                                                 TopLogProbabilitiesAttributes attributes,
                                                 const std::string& name = "top_log_probabilities");

}  // namespace mpt

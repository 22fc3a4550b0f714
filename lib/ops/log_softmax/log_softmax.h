// log_softmax: logp = z - log(sum(exp(z))) over the last dimension of z[M,V].
// log_softmax_backward: grad_z = grad - exp(logp) * sum(grad), the sum over the row.
// With `vocabulary` > 0 only the first columns are classes; the others, which pad the rows, have the
// log-probability kNoLogProbability and no gradient.
#pragma once

#include "graph/builder.h"

namespace mpt {

struct LogSoftmaxAttributes {
    std::int64_t vocabulary = 0;  // 0: all columns
    bool operator==(const LogSoftmaxAttributes&) const = default;
};
std::string print(const LogSoftmaxAttributes& attributes);

inline constexpr double kNoLogProbability = -10000;  // its exponential is 0 in every type

// How many of `columns` are classes.
constexpr std::int64_t num_classes(std::int64_t vocabulary, std::int64_t columns) {
    return vocabulary > 0 && vocabulary < columns ? vocabulary : columns;
}

extern const OpType log_softmax_op;
extern const OpType log_softmax_backward_op;

ValueId log_softmax(GraphBuilder& builder, ValueId z, LogSoftmaxAttributes attributes = {},
                    const std::string& name = "log_softmax");
ValueId log_softmax_backward(GraphBuilder& builder, ValueId grad, ValueId logp,
                             LogSoftmaxAttributes attributes = {},
                             const std::string& name = "log_softmax.backward");

}  // namespace mpt

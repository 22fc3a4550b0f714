#include "ops/batch_norm_fold/batch_norm_fold.h"

#include <fmt/format.h>

#include "ops/batch_norm_fold/rewrites.h"

namespace mpt {

std::string print(const BatchNormFoldAttributes& a) {
    return fmt::format("epsilon={} count={}", a.epsilon, a.count);
}
std::string print(const BatchNormInferenceFoldAttributes& a) {
    return fmt::format("epsilon={}", a.epsilon);
}
std::string print(const BatchNormBackwardFoldAttributes& a) {
    return fmt::format("count={} row={}", a.count, a.row);
}

namespace {

void check_vectors(const char* op, std::span<const TensorType> vectors, std::int64_t channels) {
    for (const TensorType& type : vectors)
        MPT_CHECK(type.shape == Shape{channels}, std::string(op) + " of " + std::to_string(channels) +
                                                     " channels with " + to_string(type.shape));
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> inputs) {
    const Shape& statistics = inputs[0].shape;
    MPT_CHECK(
        statistics.rank() == 2 && statistics[0] == 2 && attributes.as<BatchNormFoldAttributes>().count > 0,
        "batch_norm_fold of " + to_string(statistics));
    check_vectors("batch_norm_fold", inputs.subspan(1), statistics[1]);
    return std::vector<TensorType>(4, {{statistics[1]}, inputs[0].dtype});
}

std::vector<TensorType> infer_inference(const Attributes&, std::span<const TensorType> inputs) {
    check_vectors("batch_norm_inference_fold", inputs, inputs[0].shape[0]);
    return {inputs[0], inputs[0]};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> inputs) {
    const auto& a = attributes.as<BatchNormBackwardFoldAttributes>();
    const Shape& sums = inputs[0].shape;
    MPT_CHECK(sums.rank() == 2 && a.row >= 1 && a.row < sums[0] && a.count > 0,
              "batch_norm_backward_fold of " + to_string(sums));
    check_vectors("batch_norm_backward_fold", inputs.subspan(1), sums[1]);
    return std::vector<TensorType>(5, {{sums[1]}, inputs[0].dtype});
}

}  // namespace

const OpType batch_norm_fold_op = {
    .name = "batch_norm_fold",
    .precision = PrecisionClass::kFixed,
    .infer = infer,
};

const OpType batch_norm_inference_fold_op = {
    .name = "batch_norm_inference_fold",
    .precision = PrecisionClass::kFixed,
    .infer = infer_inference,
};

const OpType batch_norm_backward_fold_op = {
    .name = "batch_norm_backward_fold",
    .precision = PrecisionClass::kFixed,
    .infer = infer_backward,
};

void register_batch_norm_fold(OpTable& table) {
    table.add(batch_norm_fold_op);
    table.add(batch_norm_inference_fold_op);
    table.add(batch_norm_backward_fold_op);
    table.add(batch_norm_split);
    table.add(batch_norm_inference_split);
    table.add(batch_norm_backward_split);
}

}  // namespace mpt

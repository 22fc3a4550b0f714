// Which scalars of a row TensorBoard gets: the ones of metrics.jsonl, as train/<key> and eval/<key>.
#pragma once

#include <vector>

#include "metrics/event_file.h"
#include "metrics/rows.h"

namespace mpt {

std::vector<Scalar> scalars_of(const TrainRow& row);
std::vector<Scalar> scalars_of(const EvaluationRow& row);

}  // namespace mpt

// The memory of a study: what each precision needs with and without recomputing, and the largest micro-batch.
#pragma once

#include "study/families.h"
#include "study/study.h"

namespace mpt {

// Fills the rows of memory, the largest micro-batches and accumulation; of a GPU also `memory` itself, which
// for this machine memory_of_run() knows exactly.
void study_memory(PlanStudy& out, const StudyRequest& request, const Families& families, int num_threads);

MemoryReport memory_of_run(const RunConfig& config, const DescribedData& data, int num_threads);

}  // namespace mpt

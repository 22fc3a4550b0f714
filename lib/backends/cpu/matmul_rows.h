// Products of few rows with a matrix whose rows are dotted: decoding, a token at a time. The matrix is read
// once from where it is; nothing is packed.
#pragma once

#include "backends/cpu/matmul.h"

namespace mpt::cpu {

bool is_few_rows(const MatmulSpec& spec);
std::size_t few_rows_workspace_bytes(const MatmulSpec& spec);
void matmul_few_rows(const MatmulSpec& spec, const MatmulArgs& args, int num_threads);

}  // namespace mpt::cpu

// Versions of the libraries only this folder includes.
#pragma once

#include <string>

namespace mpt::cpu {

std::string onednn_version();
std::string xsmm_version();
// The vector instruction sets of this machine that the kernels know: "avx2 fma f16c avx512".
std::string instruction_sets();

}  // namespace mpt::cpu

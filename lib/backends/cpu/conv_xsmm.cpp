#include "backends/cpu/conv_xsmm.h"

#include <libxsmm.h>

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace mpt::cpu {
namespace {

struct DispatchArgs {
    libxsmm_blasint m, n, k, lda, ldb, ldc;
    float alpha = 1, beta;
    int flags, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;

    explicit DispatchArgs(const KernelShape& s)
        : m(static_cast<libxsmm_blasint>(s.m)),
          n(static_cast<libxsmm_blasint>(s.n)),
          k(static_cast<libxsmm_blasint>(s.k)),
          lda(static_cast<libxsmm_blasint>(s.lda)),
          ldb(static_cast<libxsmm_blasint>(s.ldb)),
          ldc(static_cast<libxsmm_blasint>(s.ldc)),
          beta(s.accumulate ? 1.0f : 0.0f),
          flags(s.transpose_b ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE) {}
};

std::string to_string(const KernelShape& s) {
    return "m " + std::to_string(s.m) + " n " + std::to_string(s.n) + " k " + std::to_string(s.k) + " ld " +
           std::to_string(s.lda) + "," + std::to_string(s.ldb) + "," + std::to_string(s.ldc);
}

// Without its tables, which it allocates at first, libxsmm would follow null pointers.
void start_xsmm() {
    static const bool ready = [] {
        libxsmm_init();
        libxsmm_registry_info info;
        return libxsmm_get_registry_info(&info) == EXIT_SUCCESS;
    }();
    if (!ready)
        throw Error(ExitCode::kResource,
                    "memory: the system refused libxsmm its tables of some MiB; raise the limit (ulimit -v)");
}

}  // namespace

BatchKernel::BatchKernel(const KernelShape& shape) {
    start_xsmm();
    DispatchArgs d(shape);
    function_ = libxsmm_smmdispatch_reducebatch_offs(d.m, d.n, d.k, &d.lda, &d.ldb, &d.ldc, &d.alpha, &d.beta,
                                                     &d.flags, &d.prefetch);
    MPT_CHECK(function_ != nullptr, to_string(shape));
}

ProductKernel::ProductKernel(const KernelShape& shape) {
    start_xsmm();
    DispatchArgs d(shape);
    function_ =
        libxsmm_smmdispatch(d.m, d.n, d.k, &d.lda, &d.ldb, &d.ldc, &d.alpha, &d.beta, &d.flags, &d.prefetch);
    MPT_CHECK(function_ != nullptr, to_string(shape));
}

}  // namespace mpt::cpu

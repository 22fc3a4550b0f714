#include "backends/cpu/onednn_matmul.h"

#include <omp.h>

#include <dnnl.hpp>
#include <string>

#include "core/error.h"

namespace mpt::cpu {

namespace {

// oneDNN takes as many threads as OpenMP would.
class ThreadCount {
  public:
    explicit ThreadCount(int num_threads) : saved_(omp_get_max_threads()) {
        omp_set_num_threads(num_threads);
    }
    ~ThreadCount() { omp_set_num_threads(saved_); }
    ThreadCount(const ThreadCount&) = delete;
    ThreadCount& operator=(const ThreadCount&) = delete;

  private:
    int saved_;
};

}  // namespace

void matmul(const MatmulShape& s, const float* a, const float* b, float* c, int num_threads) {
    const ThreadCount threads(num_threads);
    const dnnl::status status =
        dnnl::sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, 1.0f, a,
                    s.transpose_a ? s.m : s.k, b, s.transpose_b ? s.k : s.n, 0.0f, c, s.n);
    MPT_CHECK(status == dnnl::status::success,
              "oneDNN sgemm failed with status " + std::to_string(static_cast<int>(status)));
}

}  // namespace mpt::cpu

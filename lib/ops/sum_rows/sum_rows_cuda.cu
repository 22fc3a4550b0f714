#include "backends/cuda/column_sums.h"
#include "ops/cuda_kernel.h"
#include "ops/sum_rows/sum_rows.h"

namespace mpt {

namespace {

void run_sum_rows(const gpu::Call& s, const KernelArgs& a) {
    gpu::with_storage(s.in(0).dtype, [&]<typename T>(T) {
        gpu::column_sums(*s.device, s.in(0).shape[0], s.in(0).shape[1], gpu::PlainSum{},
                         gpu::StoreSums<1>{{a.out<float>(0)}}, a.workspace, static_cast<float*>(nullptr),
                         a.in<T>(0));
    });
}

std::size_t sums_bytes(const gpu::Call& s) {
    return gpu::column_sums_bytes(*s.device, s.in(0).shape[0], s.in(0).shape[1], 1);
}

}  // namespace

MPT_REGISTER_CUDA(sum_rows)(KernelTable& table) {
    table.add(gpu::kernel<run_sum_rows, sums_bytes>(sum_rows_op));
}

}  // namespace mpt

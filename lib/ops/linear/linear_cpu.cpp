#include <cstring>

#include "backends/cpu/onednn_matmul.h"
#include "ops/linear/linear.h"
#include "ops/simd_kernel.h"

namespace mpt {

namespace {

// The product of the two inputs into the output. Narrow tensors pass through f32 copies in the workspace; a
// bias is added to each row of the f32 result.
struct Product {
    cpu::MatmulShape shape;
    Signature s;

    // Elements of a tensor's f32 copy, in whole cache lines.
    static std::size_t copy_elements(const TensorType& type) {
        const auto elements = static_cast<std::size_t>(type.shape.num_elements());
        return is_narrow(type.dtype) ? (elements + 15) / 16 * 16 : 0;
    }
    std::size_t workspace_bytes() const {
        return (copy_elements(s.in(0)) + copy_elements(s.in(1)) + copy_elements(s.out(0))) * sizeof(float);
    }

    const float* widened(const KernelArgs& args, int index, float* copy) const {
        const TensorType& type = s.in(index);
        if (!is_narrow(type.dtype)) return simd::input<float>(args, index);
        simd::with_storage(type.dtype, [&]<typename T>(T) {
            const T* from = simd::input<T>(args, index);
            simd::for_elements(type.shape.num_elements(), s.num_threads, [=](std::int64_t i, auto lanes) {
                simd::store(copy + i, simd::load(from + i, lanes), lanes);
            });
        });
        return copy;
    }

    void run(const KernelArgs& args) const {
        float* copy_a = static_cast<float*>(args.workspace);
        float* copy_b = copy_a + copy_elements(s.in(0));
        float* copy_c = copy_b + copy_elements(s.in(1));
        const bool narrow = is_narrow(s.out(0).dtype);
        float* c = narrow ? copy_c : simd::output<float>(args, 0);
        cpu::matmul(shape, widened(args, 0, copy_a), widened(args, 1, copy_b), c, s.num_threads);
        const float* bias = s.has(2) ? simd::input<float>(args, 2) : nullptr;
        if (narrow || bias != nullptr) finish(args, c, bias);
    }

  private:
    void finish(const KernelArgs& args, const float* c, const float* bias) const {
        const std::int64_t grain = std::max<std::int64_t>(1, simd::kGrain / shape.n);
        simd::with_storage(s.out(0).dtype, [&]<typename T>(T) {
            T* y = simd::output<T>(args, 0);
            cpu::parallel_for(shape.m, grain, s.num_threads, [&](cpu::Range rows, int) {
                for (std::int64_t r = rows.begin; r < rows.end; ++r)
                    simd::for_lanes(0, shape.n, [&](std::int64_t i, auto lanes) {
                        __m256 v = simd::load(c + r * shape.n + i, lanes);
                        if (bias != nullptr) v = _mm256_add_ps(v, simd::load(bias + i, lanes));
                        simd::store(y + r * shape.n + i, v, lanes);
                    });
            });
        });
    }
};

PreparedKernel prepared(const cpu::MatmulShape& shape, const Signature& s) {
    const Product product{shape, s};
    const char* how = is_narrow(s.in(0).dtype) ? "onednn f32, operands widened" : "onednn f32";
    return {[product](const KernelArgs& args) { product.run(args); }, product.workspace_bytes(), how};
}

PreparedKernel prepare(const Signature& s) {
    const Shape& x = s.in(0).shape;
    return prepared({.m = x[0], .n = s.in(1).shape[0], .k = x[1], .transpose_b = true}, s);
}
PreparedKernel prepare_backward_data(const Signature& s) {
    const Shape& g = s.in(0).shape;
    return prepared({.m = g[0], .n = s.in(1).shape[1], .k = g[1]}, s);
}
PreparedKernel prepare_backward_weight(const Signature& s) {
    const Shape& g = s.in(0).shape;
    return prepared({.m = g[1], .n = s.in(1).shape[1], .k = g[0], .transpose_a = true}, s);
}

}  // namespace

void register_linear_cpu(KernelTable& table) {
    table.add({linear_op.name, "onednn", simd::refusal, prepare});
    table.add({linear_backward_data_op.name, "onednn", simd::refusal, prepare_backward_data});
    table.add({linear_backward_weight_op.name, "onednn", simd::refusal, prepare_backward_weight});
}

}  // namespace mpt

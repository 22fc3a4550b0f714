// What cuBLASLt is told of a product: its descriptors are filled without a GPU and read back. Reference: the
// library's documentation; row-major products are its column-major ones, transposed.
#include <catch2/catch.hpp>

#include "backends/cuda/device/cublaslt_product.h"

using namespace mpt;
using namespace mpt::gpu;

namespace {

const CublasLtFunctions& functions() {
    static const CublasLtFunctions all;
    return all;
}

template <typename T>
T attribute(const CublasLtProduct& p, cublasLtMatmulDescAttributes_t which) {
    T value{};
    std::size_t written = 0;
    check_cublas(
        functions().cublasLtMatmulDescGetAttribute(p.operation, which, &value, sizeof value, &written),
        "cublasLtMatmulDescGetAttribute");
    CHECK(written == sizeof value);
    return value;
}

struct Layout {
    std::uint32_t type = 0;
    std::uint64_t rows = 0, columns = 0;
    std::int64_t leading = 0;
    bool operator==(const Layout&) const = default;
};

Layout layout_of(cublasLtMatrixLayout_t layout) {
    Layout out;
    std::size_t written = 0;
    const auto read = [&](cublasLtMatrixLayoutAttribute_t which, auto& value) {
        check_cublas(
            functions().cublasLtMatrixLayoutGetAttribute(layout, which, &value, sizeof value, &written),
            "cublasLtMatrixLayoutGetAttribute");
    };
    read(CUBLASLT_MATRIX_LAYOUT_TYPE, out.type);
    read(CUBLASLT_MATRIX_LAYOUT_ROWS, out.rows);
    read(CUBLASLT_MATRIX_LAYOUT_COLS, out.columns);
    read(CUBLASLT_MATRIX_LAYOUT_LD, out.leading);
    return out;
}

std::uint32_t epilogue_of(const CublasLtProduct& p) {
    return attribute<std::uint32_t>(p, CUBLASLT_MATMUL_DESC_EPILOGUE);
}

// y[96,64] = x[96,32] w[64,32]^T
ProductSpec forward(DType type) {
    ProductSpec s;
    s.m = 96, s.n = 64, s.k = 32;
    s.transposed_b = true;
    s.input = s.output = type;
    return s;
}

// grad_w[64,32] = grad_y[96,64]^T x[96,32]
ProductSpec weight_gradient(DType type) {
    ProductSpec s;
    s.m = 64, s.n = 32, s.k = 96;
    s.transposed_a = true;
    s.input = type;
    return s;
}

}  // namespace

TEST_CASE("a forward product and its weight gradient are described column-major") {
    const CublasLtProduct y(functions(), forward(DType::bf16));
    CHECK(attribute<std::int32_t>(y, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T);
    CHECK(attribute<std::int32_t>(y, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_N);
    CHECK(layout_of(y.a) == Layout{CUDA_R_16BF, 32, 64, 32});  // w
    CHECK(layout_of(y.b) == Layout{CUDA_R_16BF, 32, 96, 32});  // x
    CHECK(layout_of(y.d) == Layout{CUDA_R_16BF, 64, 96, 64});
    CHECK(epilogue_of(y) == CUBLASLT_EPILOGUE_DEFAULT);
    const CublasLtProduct w(functions(), weight_gradient(DType::f16));
    CHECK(attribute<std::int32_t>(w, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_N);
    CHECK(attribute<std::int32_t>(w, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T);
    CHECK(layout_of(w.d) == Layout{CUDA_R_32F, 32, 64, 32});
}

TEST_CASE("bias, gelu, its gradient and the gradient of a bias are epilogues") {
    ProductSpec biased = forward(DType::f16);
    biased.bias = true;
    const CublasLtProduct y(functions(), biased);
    CHECK(epilogue_of(y) == CUBLASLT_EPILOGUE_BIAS);
    CHECK(attribute<std::int32_t>(y, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) == CUDA_R_16F);
    biased.gelu = true;
    const CublasLtProduct gelu(functions(), biased);
    CHECK(epilogue_of(gelu) == CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
    CHECK(attribute<std::int64_t>(gelu, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) == 64);
    biased.bias = false;
    CHECK(epilogue_of(CublasLtProduct(functions(), biased)) == CUBLASLT_EPILOGUE_GELU_AUX);
    ProductSpec gradient = forward(DType::bf16);
    gradient.transposed_b = false;
    gradient.gelu_gradient = true;
    const CublasLtProduct dgelu(functions(), gradient);
    CHECK(epilogue_of(dgelu) == CUBLASLT_EPILOGUE_DGELU);
    CHECK(attribute<std::int64_t>(dgelu, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) == 64);
    ProductSpec weight = weight_gradient(DType::bf16);
    weight.bias_gradient = weight.accumulate = true;
    const CublasLtProduct sums(functions(), weight);
    CHECK(epilogue_of(sums) == CUBLASLT_EPILOGUE_BGRADB);
    CHECK(attribute<std::int32_t>(sums, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) == CUDA_R_32F);
    CHECK(sums.beta == 1);
}

TEST_CASE("fp8 products have types and scales of their own, and fast sums forward only") {
    ProductSpec s = forward(DType::bf16);
    s.fp8 = Fp8::kE4m3;
    const CublasLtProduct y(functions(), s);
    CHECK(layout_of(y.a).type == CUDA_R_8F_E4M3);
    CHECK(layout_of(y.b).type == CUDA_R_8F_E4M3);
    CHECK(layout_of(y.d).type == CUDA_R_16BF);
    CHECK(attribute<std::int8_t>(y, CUBLASLT_MATMUL_DESC_FAST_ACCUM) == 1);
    s.fp8 = Fp8::kE5m2;
    s.output = DType::f32;
    const CublasLtProduct gradient(functions(), s);
    CHECK(layout_of(gradient.a).type == CUDA_R_8F_E4M3);  // our b
    CHECK(layout_of(gradient.b).type == CUDA_R_8F_E5M2);  // our a
    CHECK(attribute<std::int8_t>(gradient, CUBLASLT_MATMUL_DESC_FAST_ACCUM) == 0);
}

TEST_CASE("products that cuBLASLt has in no version are refused before it is asked") {
    CHECK(refusal_of(forward(DType::f32)).empty());
    ProductSpec s = forward(DType::bf16);
    s.fp8 = Fp8::kE4m3;
    CHECK(refusal_of(s).empty());
    s.m = 7;  // rows of the batch may be any number
    CHECK(refusal_of(s).empty());
    s.k = 40;
    CHECK_THAT(refusal_of(s), Catch::Contains("multiples of 16"));
    s.k = 32;
    s.transposed_b = false;
    CHECK_THAT(refusal_of(s), Catch::Contains("b transposed"));
    s.transposed_b = true;
    s.gelu = true;
    CHECK_THAT(refusal_of(s), Catch::Contains("product of fp8"));
    ProductSpec odd = forward(DType::f16);
    odd.n = 12;
    odd.gelu = true;
    CHECK_THAT(refusal_of(odd), Catch::Contains("multiples of 8"));
}
